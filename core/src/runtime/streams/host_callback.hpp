// SPDX-License-Identifier: Apache-2.0
// Host functions that a stream calls.
#pragma once

#include <functional>

#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

struct HostCallback {
  std::function<void()> function;
  const StreamState* stream;

  /// A weir_host_callback: calls and deletes the HostCallback that `user` points to.
  static void call(void* user);
  /// The stream whose callback runs on this thread; null outside callbacks. That stream's work cannot end
  /// before the callback returns.
  static const StreamState* running_on() noexcept;
};

}  // namespace weir::detail
