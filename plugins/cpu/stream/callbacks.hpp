// SPDX-License-Identifier: Apache-2.0
// Threads for host callbacks, which may block without limit: as many threads as concurrent callbacks.
#pragma once

#include <pthread.h>
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
  bool runs_on_this_thread() noexcept;

 private:
  struct Call {
    Stream* stream;
    weir_host_callback function;
    void* user;
  };
  /// A thread inside a callback. Not a thread-local variable: glibc ends the process when it has no memory
  /// for those of a library that was opened later.
  struct Inside {
    pthread_t thread;
    Inside* next;
  };
  void serve();
  void call(const Call& call) noexcept;

  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<Call> calls_;
  unsigned idle_ = 0;
  Inside* inside_ = nullptr;
};

}  // namespace weir::cpu
