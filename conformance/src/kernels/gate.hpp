// SPDX-License-Identifier: Apache-2.0
// Blocks streams, so that work submitted after the gate cannot have run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "objects.hpp"

namespace weir::conformance {

/// Time limit for operations that should return at once; --patience.
std::chrono::seconds patience();

/// A host callback that blocks its stream until open(). After patience() it opens without a call and the test
/// fails, because a call that should have returned waited for the stream.
///
/// Drivers may run the callbacks of all streams on one thread. No test may therefore depend on a second
/// callback while a gate is closed.
class Gate {
 public:
  Gate();  ///< throws Unsupported without HOST_CALLBACK
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  static bool possible() { return has(WEIR_CAP_HOST_CALLBACK); }

  void hold(const Stream& stream);
  /// Waits until a stream has reached the gate, so that it certainly is in the middle of its work. Returns
  /// false after patience().
  bool reached();
  void open();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Opens a gate soon, on a thread of its own, or when it is destroyed. For a thread that submits more than
/// 500 pieces of work to a held stream, where a driver may block.
class OpensLater {
 public:
  explicit OpensLater(Gate& gate);
  OpensLater(const OpensLater&) = delete;
  OpensLater& operator=(const OpensLater&) = delete;
  ~OpensLater() = default;

  bool opened() const { return opened_; }

 private:
  std::atomic<bool> opened_{false};
  std::jthread opening_;
};

/// How many streams a test may use that must not wait for one another: `most`, or fewer on GPUs. These map
/// streams to a limited number of queues. Streams that share a queue wait for one another, so half of the
/// queues are left free.
std::size_t independent_streams(std::size_t most);

/// Creates `count` streams, each with a fill of 64 bytes of `memory` that waits for work of `held`, and
/// destroys them. Returns when these fills have ended.
void destroy_busy_streams(const Stream& held, const Memory& memory, std::size_t count);

/// Opens all existing gates.
void open_all_gates() noexcept;

/// Occupies a stream for a while: with a gate where callbacks are supported, else with fills of much memory.
/// For tests that are correct without it but cover more when work queues up.
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

/// Polls until `condition` holds, at most for twice patience(). Returns whether it held.
template <class Condition>
bool eventually(Condition condition) {
  for (const auto limit = std::chrono::steady_clock::now() + 2 * patience(); !condition();) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Polls `condition`, which must never hold, for a limited time. Returns true if it never held. The time is
/// long enough to expose work that should have waited; a correct driver passes for any length.
template <class Condition>
bool never(Condition condition, std::chrono::milliseconds time = std::chrono::milliseconds(50)) {
  for (const auto limit = std::chrono::steady_clock::now() + (judged().thorough ? 10 * time : time);
       std::chrono::steady_clock::now() < limit; std::this_thread::yield())
    if (condition()) return false;
  return true;
}

}  // namespace weir::conformance
