// SPDX-License-Identifier: Apache-2.0
// Whose turn it is to submit to a stream. What a user submits in one call is one step of the stream, however
// many calls of the driver that takes: a region's fork, its tasks and its join would be ordered wrongly
// around anything that another thread puts on the caller's stream in between.
//
// A thread holds at most one turn, and only while it hands work to the driver: memory, code and graphs are
// made ready before, and nobody waits for the device meanwhile. Marks and waits that order memory need no
// turn: in the middle of a launch they stand for what is before it.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

/// A mutex of 4 bytes, taken with std::lock_guard. Free: two atomic operations. Taken: looks for a
/// microsecond whether it is free, then sleeps.
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
  /// Whether somebody waits for it, for tests.
  bool has_waiters() const noexcept { return state_.load(std::memory_order_relaxed) == wanted; }

 private:
  static constexpr std::uint32_t free = 0, taken = 1, wanted = 2;  // wanted: taken, and others sleep

  bool try_lock() noexcept {
    std::uint32_t expected = free;
    return state_.compare_exchange_strong(expected, taken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void wait() noexcept {
    // Most steps are one call of the driver, and done before a thread could sleep and wake.
    for (int looks = 0; looks < 2000; ++looks)
      if (state_.load(std::memory_order_relaxed) == free && try_lock()) return;
    while (state_.exchange(wanted, std::memory_order_acquire) != free)
      state_.wait(wanted, std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> state_{free};
};

}  // namespace weir::detail
