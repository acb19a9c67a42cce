// SPDX-License-Identifier: Apache-2.0
// Holds streams back, so that what is submitted behind is known not to have run.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "objects.hpp"

namespace weir::conformance {

/// How long something may take that has no reason to take time; --patience.
std::chrono::seconds patience();

/// A host callback that waits until the gate is opened. It opens by itself after patience(), and the test
/// then fails: a call that should have returned waited for the stream.
///
/// Drivers may run the callbacks of all streams on one thread, so that nothing may need a second callback
/// while a gate is closed.
class Gate {
 public:
  Gate();  ///< throws Unsupported without host callbacks
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  static bool possible() { return has(WEIR_CAP_HOST_CALLBACK); }

  void hold(const Stream& stream);
  void open();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Opens every gate that there is.
void open_all_gates() noexcept;

/// Gives the stream work that takes a while: a gate where there can be one, else fills of much memory. For
/// tests whose answer is right either way, but which show more when work queues up.
class Delay {
 public:
  explicit Delay(const Stream& stream);
  ~Delay();
  void end();

 private:
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Memory> memory_;
  weir_stream stream_ = nullptr;
};

/// Asks until `condition` holds, at most for twice patience(); true when it did.
template <class Condition>
bool eventually(Condition condition) {
  for (const auto limit = std::chrono::steady_clock::now() + 2 * patience(); !condition();) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Asks for a while whether `condition` holds, which it must not: true when it never did. The while is long
/// enough for work that should wait to show itself, and a right driver passes however long it is.
template <class Condition>
bool never(Condition condition) {
  for (const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
       std::chrono::steady_clock::now() < limit; std::this_thread::yield())
    if (condition()) return false;
  return true;
}

}  // namespace weir::conformance
