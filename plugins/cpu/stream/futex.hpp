// SPDX-License-Identifier: Apache-2.0
// Sleeping on a word and waking its sleepers, with a time limit, which std::atomic::wait lacks.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>

namespace weir::cpu {

/// Returns when woken, when `word` is not `expected`, after `nanoseconds` (negative: no limit), or
/// spuriously.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::int64_t nanoseconds) noexcept {
  timespec limit{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nanoseconds < 0 ? nullptr : &limit, nullptr, 0);
}

inline void futex_wake_one(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

}  // namespace weir::cpu
