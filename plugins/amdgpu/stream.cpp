// SPDX-License-Identifier: Apache-2.0
// Streams of other libraries, host callbacks, and the kind of memory that copies use.
#include <memory>
#include <new>

#include "hip.hpp"

namespace weir::amdgpu {
namespace {

struct Callback {
  weir_host_callback function;
  void* user;
};

void run_callback(void*, Code, void* what) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(what));
  callback->function(callback->user);
}

/// Fails for memory unknown to HIP. Clears the error that HIP then records, because other code on this thread
/// would read it.
Code ask(const void* memory, PointerAttributes& out) noexcept {
  const Code before = api.peek_last_error();
  const Code code = api.pointer_attributes(&out, memory);
  if (code != sdk::vendor::success && before == sdk::vendor::success) api.last_error();
  return code == sdk::vendor::success && !out.device_pointer ? Code{invalid_device_pointer} : code;
}

}  // namespace

Code add_callback(void* stream, weir_host_callback callback, void* user) {
  std::unique_ptr<Callback> kept(new (std::nothrow) Callback{callback, user});
  if (!kept) return sdk::vendor::out_of_memory;
  const Code code = api.stream_callback(stream, &run_callback, kept.get(), 0);
  if (code == sdk::vendor::success) kept.release();
  return code;
}

void Hip::check_foreign_stream(Device& device, void* native) {
  // 1 and 2 are HIP's handles of the default stream and of the per-thread one.
  if (reinterpret_cast<std::uintptr_t>(native) <= 2)
    sdk::fail(WEIR_ERROR_INVALID,
              "native is %p, one of HIP's default streams; expected a hipStream_t that was created: default "
              "streams wait "
              "for other streams, or differ between threads",
              native);
  int owner = device.context;
  if (!api.stream_device) return;  // HIP before 5.6 cannot return the device
  device.check(api.stream_device(native, &owner), "query a stream's device");
  if (owner != device.context)
    sdk::fail(WEIR_ERROR_INVALID, "native is a hipStream_t of device %d; expected one of device %u", owner,
              device.index);
}

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
