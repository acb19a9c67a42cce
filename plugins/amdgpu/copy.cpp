// SPDX-License-Identifier: Apache-2.0
#include "hip.hpp"

namespace weir::amdgpu {

namespace {

/// Fails for memory unknown to HIP. Clears the error that HIP then records, because other code on this thread
/// would read it.
Code ask(const void* memory, PointerAttributes& out) noexcept {
  const Code before = api.peek_last_error();
  const Code code = api.pointer_attributes(&out, memory);
  if (code != sdk::vendor::success && before == sdk::vendor::success) api.last_error();
  return code == sdk::vendor::success && !out.device_pointer ? Code{invalid_device_pointer} : code;
}

}  // namespace

bool Hip::is_pinned(const void* memory) noexcept {
  PointerAttributes found{};
  return ask(memory, found) == sdk::vendor::success;
}

Code Hip::device_of(Address address, int* out) noexcept {
  PointerAttributes found{};
  const Code code = ask(reinterpret_cast<const void*>(address), found);
  if (code == sdk::vendor::success) *out = found.device;
  return code;
}

}  // namespace weir::amdgpu
