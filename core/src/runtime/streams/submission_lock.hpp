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
#include <chrono>
#include <cstdint>
#include <thread>

namespace weir::detail {

/// A mutex for std::lock_guard. Uncontended: one atomic read-modify-write operation. Contended: looks for
/// some microseconds, then sleeps between looks, since unlock() would need a second operation to wake a
/// thread.
class SubmissionLock {
 public:
  void lock() noexcept {
    if (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }
  /// True if a thread waits for the lock. For tests.
  bool has_waiters() const noexcept { return waiters_.load(std::memory_order_relaxed) != 0; }

 private:
  void wait() noexcept {
    waiters_.fetch_add(1, std::memory_order_relaxed);
    for (std::uint32_t looks = 0; !try_lock(); ++looks)
      // Most submissions are one driver call, which ends before a thread could sleep and wake.
      if (looks >= 2000) std::this_thread::sleep_for(std::chrono::microseconds(50));
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }
  bool try_lock() noexcept {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }

  std::atomic<bool> taken_{false};
  std::atomic<std::uint16_t> waiters_{0};
};

}  // namespace weir::detail
