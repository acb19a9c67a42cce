// SPDX-License-Identifier: Apache-2.0
// Runtimes with threads or a device do not survive a fork: the child has the handles, but neither the threads
// nor the device. A driver calls `notice_forks` when it starts its own or a vendor's runtime. In a child
// forked later, calls are then refused with a message instead of hanging or crashing. A child may start the
// runtime itself if its parent did not.
#pragma once

#include <pthread.h>

#include <atomic>

#include "status.hpp"

namespace weir::sdk {

namespace detail {
inline std::atomic<bool> noticing{false}, forked{false};
}

/// Must be called before the runtime is started, to cover children forked during the start. Thread-safe.
inline void notice_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { detail::forked.store(detail::noticing.load()); });
  if (registered != 0) fail_system(registered, "cannot register a fork handler");
  detail::noticing.store(true);
}

/// Undoes notice_forks after a failed start: there is no runtime that a child could lose.
inline void ignore_forks() noexcept {
  detail::noticing.store(false);
}

/// Whether this is a child that was forked after `notice_forks`.
inline bool was_forked() noexcept {
  return detail::forked.load(std::memory_order_relaxed);
}

/// Throws in a child that was forked after `notice_forks`. `kind` and `plugin` name the caller in the
/// message.
inline void check_not_forked(const char* plugin, const char* kind = "driver") {
  if (was_forked()) [[unlikely]]
    fail(WEIR_ERROR_SYSTEM,
         "this process was forked from one in which the %s %s had started its runtime, which does not work "
         "in the child; start the child with exec, or use the %s only after the fork",
         plugin, kind, kind);
}

}  // namespace weir::sdk
