// SPDX-License-Identifier: Apache-2.0
// Makes races certain instead of likely. Threads are stopped at any instruction of the driver, while the
// others make many calls.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::conformance {

/// The time for which a race is tried. On a busy machine it ends when the process has used as much processor
/// time as given, at most after four times as long.
class Race {
 public:
  explicit Race(std::chrono::milliseconds time);
  bool goes_on() const;

 private:
  const std::chrono::milliseconds time_;
  const std::chrono::steady_clock::time_point began_;
  const std::chrono::nanoseconds processor_began_;
};

/// During its lifetime, a separate thread interrupts each thread that has a Here, thousands of times a
/// second. The signal's handler sleeps until the others have run for some microseconds. Profilers interrupt
/// threads in the same way.
class Interruptions {
 public:
  Interruptions();
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  ~Interruptions();

  /// Subjects the calling thread to the interruptions during its lifetime.
  class Here {
   public:
    explicit Here(Interruptions& by);
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;
    ~Here();

   private:
    Interruptions& by_;
  };

 private:
  std::mutex mutex_;  ///< guards the list, and keeps its threads alive while they are signalled
  std::vector<pthread_t> threads_;
  std::atomic<bool> stop_{false};
  std::thread interrupter_;
};

}  // namespace weir::conformance
