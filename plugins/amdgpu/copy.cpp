// SPDX-License-Identifier: Apache-2.0
#include "hip.hpp"

namespace weir::amdgpu {

/// Clears the error that HIP records for ordinary memory, because other code on this thread would read it.
bool Hip::is_pinned(const void* memory) noexcept {
  const Code before = api.peek_last_error();
  PointerAttributes found{};
  const Code code = api.pointer_attributes(&found, memory);
  if (code != sdk::vendor::success && before == sdk::vendor::success) api.last_error();
  return code == sdk::vendor::success && found.device_pointer;
}

}  // namespace weir::amdgpu
