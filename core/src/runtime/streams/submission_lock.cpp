// SPDX-License-Identifier: Apache-2.0
#include "runtime/streams/submission_lock.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace weir::detail {

void SubmissionLock::wait() noexcept {
  // Most submissions are one driver call, which ends before a thread could sleep and wake.
  for (int looks = 0; looks < 2000; ++looks)
    if (state_.load(std::memory_order_relaxed) == free && try_lock()) return;
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (!try_lock()) {
    const timespec limit{0, 1'000'000};  // std::atomic::wait has none
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, taken, &limit, nullptr, 0);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void SubmissionLock::wake() noexcept {
  syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace weir::detail
