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

/// A mutex of 4 bytes for std::lock_guard. Uncontended: two atomic operations. Contended: spins for about a
/// microsecond, then sleeps.
class SubmissionLock {
 public:
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  void unlock() noexcept {
    if (state_.exchange(free, std::memory_order_seq_cst) == wanted) [[unlikely]]
      state_.notify_one();
  }
  /// True if a thread waits for the lock. For tests.
  bool has_waiters() const noexcept { return state_.load(std::memory_order_relaxed) == wanted; }

 private:
  static constexpr std::uint32_t free = 0, taken = 1, wanted = 2;  // wanted: taken, with sleepers

  bool try_lock() noexcept {
    std::uint32_t expected = free;
    return state_.compare_exchange_strong(expected, taken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void wait() noexcept {
    // Most submissions are one driver call, which ends before a thread could sleep and wake.
    for (int looks = 0; looks < 2000; ++looks)
      if (state_.load(std::memory_order_relaxed) == free && try_lock()) return;
    while (state_.exchange(wanted, std::memory_order_acquire) != free)
      state_.wait(wanted, std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> state_{free};
};

}  // namespace weir::detail
