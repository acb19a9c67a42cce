// SPDX-License-Identifier: Apache-2.0
// Threads for host callbacks, which may block without limit: as many threads as concurrent callbacks.
#pragma once

#include <weir/driver.h>

#include <condition_variable>
#include <deque>
#include <mutex>

namespace weir::cpu {

struct Stream;

class Callbacks {
 public:
  static Callbacks& get();

  /// Schedules a call of `function(user)`, and then lets the scheduler resume the parked stream.
  void run(Stream& stream, weir_host_callback function, void* user) noexcept;

  /// Whether this thread is inside a callback. Its stream waits for it.
  static bool runs_on_this_thread() noexcept;

 private:
  struct Call {
    Stream* stream;
    weir_host_callback function;
    void* user;
  };
  void serve();
  static void call(const Call& call) noexcept;

  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<Call> calls_;
  unsigned idle_ = 0;
};

}  // namespace weir::cpu
