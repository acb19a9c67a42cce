// SPDX-License-Identifier: Apache-2.0
// Submission lock of a stream. The driver calls of one user call are consecutive in the stream. Otherwise
// another thread's work could fall between a region's fork, its tasks and its join, and be ordered wrongly.
//
// A thread holds at most one submission lock, and only while it submits work to the driver. Memory, code and
// graphs are prepared before. No thread waits for the device while it holds the lock.
// Memory-ordering events do not take the submission lock. An event recorded during a launch covers only work
// submitted before it.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

/// A mutex for std::lock_guard. Uncontended: one atomic read-modify-write operation. Contended: spins for
/// some microseconds, then sleeps. To notice every sleeper, unlock() would need a second such operation; one
/// that it misses looks again after a millisecond.
class SubmissionLock {
 public:
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  void unlock() noexcept {
    state_.store(free, std::memory_order_release);
    if (sleepers_.load(std::memory_order_relaxed)) [[unlikely]]
      wake();
  }
  /// True if a thread waits for the lock. For tests.
  bool has_waiters() const noexcept { return sleepers_.load(std::memory_order_relaxed) != 0; }

 private:
  static constexpr std::uint32_t free = 0, taken = 1;

  bool try_lock() noexcept { return state_.exchange(taken, std::memory_order_acquire) == free; }
  void wait() noexcept;
  void wake() noexcept;

  std::atomic<std::uint32_t> state_{free}, sleepers_{0};
};

}  // namespace weir::detail
