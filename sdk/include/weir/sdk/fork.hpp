// SPDX-License-Identifier: Apache-2.0
// Runtimes with threads or a device do not survive a fork: the child has the handles, not the threads and not
// the device. A driver that calls `notice_forks` when it starts its own or a vendor's runtime knows it is in
// such a child, and refuses calls with a sentence instead of hanging or crashing. A child that starts the
// runtime itself is not concerned.
#pragma once

#include <pthread.h>

#include <atomic>

#include "status.hpp"

namespace weir::sdk {

namespace detail {
inline std::atomic<bool> noticing{false}, forked{false};
}

/// To be called before the runtime is started, so that a child that is forked meanwhile knows too;
/// thread-safe.
inline void notice_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { detail::forked.store(detail::noticing.load()); });
  if (registered != 0) fail_system(registered, "cannot ask to be told of forks");
  detail::noticing.store(true);
}

/// After a start that failed: children have lost nothing.
inline void ignore_forks() noexcept {
  detail::noticing.store(false);
}

/// Whether this is a child that was forked after `notice_forks`.
inline bool was_forked() noexcept {
  return detail::forked.load(std::memory_order_relaxed);
}

/// Throws in such a child.
inline void check_not_forked(const char* driver) {
  if (was_forked()) [[unlikely]]
    fail(WEIR_ERROR_SYSTEM,
         "this process was forked from one in which the %s driver had started its runtime, which does not "
         "work in the "
         "child; start the child with exec, or use the driver only after the fork",
         driver);
}

}  // namespace weir::sdk
