// SPDX-License-Identifier: Apache-2.0
#include "runtime/streams/host_callback.hpp"

#include <memory>
#include <utility>

namespace weir::detail {
namespace {
thread_local const StreamState* running = nullptr;
}

void HostCallback::call(void* user) {
  const std::unique_ptr<HostCallback> callback(static_cast<HostCallback*>(user));
  const StreamState* outer = std::exchange(running, callback->stream);
  [&]() noexcept { callback->function(); }();
  running = outer;
}

const StreamState* HostCallback::running_on() noexcept {
  return running;
}

}  // namespace weir::detail
