// SPDX-License-Identifier: Apache-2.0
// Counts of a stream's submitted and completed work. Every submission updates them; the memory pool and waits
// read them.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

struct StreamProgress {
  std::atomic<std::uint64_t> submitted{0};  ///< counted after each submission
  std::atomic<std::uint64_t> completed{0};  ///< as last observed by the host
  std::atomic<bool> unflushed{false};       ///< work was submitted since the last flush

  /// Called after each submission to the driver stream.
  void note_submission() noexcept {
    submitted.fetch_add(1, std::memory_order_release);
    if (!unflushed.load(std::memory_order_relaxed)) unflushed.store(true, std::memory_order_release);
  }
  void note_completion(std::uint64_t up_to) noexcept {
    std::uint64_t seen = completed.load(std::memory_order_relaxed);
    while (seen < up_to && !completed.compare_exchange_weak(seen, up_to, std::memory_order_release)) {
    }
  }
  /// True if the host has observed the completion of all submissions.
  bool all_completed() const noexcept {
    const std::uint64_t now = submitted.load(std::memory_order_acquire);
    return completed.load(std::memory_order_acquire) >= now;
  }
};

}  // namespace weir::detail
