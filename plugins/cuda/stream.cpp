// SPDX-License-Identifier: Apache-2.0
// Streams of other libraries, copies between devices, and the kind of memory that copies use.
#include "cuda.hpp"

namespace weir::cuda {

void Cuda::check_foreign_stream(Device& device, void* native) {
  // 1 and 2 are CUDA's handles of its two default streams.
  const auto number = reinterpret_cast<std::uintptr_t>(native);
  if (number <= 2)
    sdk::fail(WEIR_ERROR_INVALID,
              "native is %s; expected a CUstream that was created: the default stream waits for other "
              "streams, or "
              "differs between threads",
              number == 0 ? "null, CUDA's default stream" : "one of CUDA's default streams");
  void* context = nullptr;
  device.check(api.stream_context(native, &context), "query a stream's context");
  if (context != device.context)
    sdk::fail(WEIR_ERROR_INVALID,
              "native is a CUstream of context %p; expected one of the primary context of device %u", context,
              device.index);
}

/// On an H200, copies from pool memory to the stream's own device take 8.7 us with cuMemcpyPeerAsync, three
/// entries of the stream's queue, and 2 us with this call, one entry.
Code Cuda::copy_peer(Address to, Device& to_device, Address from, Device& from_device, std::size_t size,
                     void* stream) noexcept {
  if (to_device.pool.reachable_from(from_device.index) && from_device.pool.reachable_from(to_device.index))
    return api.calls.copy_on_device(to, from, size, stream);
  return api.copy_peer(to, to_device.context, from, from_device.context, size, stream);
}

/// CUDA returns an error for ordinary memory.
bool Cuda::is_pinned(const void* memory) noexcept {
  unsigned type = 0;
  return api.pointer_attribute(&type, pointer_memory_type, reinterpret_cast<Address>(memory)) ==
         sdk::vendor::success;
}

}  // namespace weir::cuda
