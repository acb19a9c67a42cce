// SPDX-License-Identifier: Apache-2.0
// Memory: allocation, and copies and fills on streams.
#include <cstring>
#include <initializer_list>

#include "hip/entry.hpp"

namespace weir::hipsim {
namespace {

std::shared_ptr<Allocation> live_block(Runtime& r, const void* pointer) {
  auto block = r.memory.find(reinterpret_cast<std::uint64_t>(pointer));
  const bool is_start = block && block->begin == reinterpret_cast<std::uint64_t>(pointer);
  return is_start && !block->freed.load() ? block : nullptr;
}

/// Copies of pageable host memory must be complete when the call returns.
bool waits(Runtime& r, const CopyWork& w) {
  return (!w.to_device && !r.memory.find(w.to)) || (!w.from_device && !r.memory.find(w.from));
}

hipError_t copy(const char* name, void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                hipStream_t handle, bool always_waits, std::initializer_list<int> devices = {}) {
  return device_entry(name, [&](Runtime& r, Device&) {
    for (const int device : devices)
      if (device < 0 || std::size_t(device) >= r.devices.size()) return hipErrorInvalidDevice;
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    CopyWork work;
    if (const hipError_t error = prepare_copy(to, from, bytes, kind, work); error != hipSuccess) return error;
    if (bytes == 0) return hipSuccess;
    enqueue(r, stream, work);
    if (!always_waits && !waits(r, work)) return hipSuccess;
    stream->synchronize();
    return r.devices[std::size_t(stream->device)]->error();
  });
}

hipError_t fill(const char* name, void* to, std::uint32_t value, unsigned element, std::size_t count,
                hipStream_t handle, bool always_waits = false) {
  return device_entry(name, [&](Runtime& r, Device&) {
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    FillWork work;
    if (const hipError_t error = prepare_fill(to, value, element, count, 1, 0, work); error != hipSuccess)
      return error;
    if (count == 0) return hipSuccess;
    enqueue(r, stream, work);
    if (always_waits) stream->synchronize();
    return hipSuccess;
  });
}

hipError_t free_now(const char* name, void* pointer, MemoryKind kind) {
  return entry(name, [&](Runtime& r) {
    if (!pointer) return hipSuccess;
    const auto block = live_block(r, pointer);
    if (!block || block->kind != kind || !block->storage) return hipErrorInvalidValue;
    for (const auto& device : r.devices) device->synchronize();  // work in flight may use the memory
    if (block->freed.load()) return hipErrorInvalidValue;        // that work has freed it
    if (kind == MemoryKind::device)
      r.devices[std::size_t(block->device)]->free(block);
    else
      r.memory.free(block);
    return hipSuccess;
  });
}

}  // namespace

HIPSIM_EXPORT hipError_t hipMalloc(void** out, std::size_t size) {
  return device_entry("hipMalloc", [&](Runtime&, Device& d) {
    if (!out) return hipErrorInvalidValue;
    *out = nullptr;
    if (size == 0) return hipSuccess;
    const auto block = d.allocate(size, false);
    if (!block) return hipErrorOutOfMemory;
    *out = pointer_of(block);
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipFree(void* pointer) {
  return free_now("hipFree", pointer, MemoryKind::device);
}

HIPSIM_EXPORT hipError_t hipFreeAsync(void* pointer, hipStream_t handle) {
  return entry("hipFreeAsync", [&](Runtime& r) {
    if (r.devices.empty()) return hipErrorNoDevice;
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!pointer) return hipSuccess;
    const auto block = live_block(r, pointer);
    if (!block || block->kind != MemoryKind::device) return hipErrorInvalidValue;
    Device& owner = *r.devices[std::size_t(block->device)];
    r.devices[std::size_t(stream->device)]->enqueue(stream, [&owner, block] {
      if (!block->freed.load()) owner.free(block);
    });
    return hipSuccess;
  });
}

HIPSIM_EXPORT hipError_t hipHostMalloc(void** out, std::size_t size, unsigned) {
  return device_entry("hipHostMalloc", [&](Runtime& r, Device& d) {
    if (!out) return hipErrorInvalidValue;
    *out = nullptr;
    if (size == 0) return hipSuccess;
    const auto block = r.memory.allocate(size, d.index, MemoryKind::host);
    if (!block) return hipErrorOutOfMemory;
    *out = pointer_of(block);
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipHostFree(void* pointer) {
  return free_now("hipHostFree", pointer, MemoryKind::host);
}
HIPSIM_EXPORT hipError_t hipHostGetDevicePointer(void** out, void* pointer, unsigned) {
  return entry("hipHostGetDevicePointer", [&](Runtime& r) {
    if (!out || !r.memory.find(reinterpret_cast<std::uint64_t>(pointer))) return hipErrorInvalidValue;
    *out = pointer;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out, const void* pointer) {
  return entry("hipPointerGetAttributes", [&](Runtime& r) {
    if (!out) return hipErrorInvalidValue;
    const auto block = r.memory.find(reinterpret_cast<std::uint64_t>(pointer));
    const bool since_6 = r.config.version_major >= 6;
    *out = {};
    if (!block || block->freed.load()) {
      constexpr int no_device = -2;
      out->device = no_device;
      return since_6 ? hipSuccess : hipErrorInvalidValue;
    }
    const bool host = block->kind == MemoryKind::host;
    out->type = since_6 ? (host ? 1 : 2) : (host ? 0 : 1);
    out->device = block->device;
    out->devicePointer = const_cast<void*>(pointer);
    if (host) out->hostPointer = const_cast<void*>(pointer);
    return hipSuccess;
  });
}

HIPSIM_EXPORT hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  return copy("hipMemcpy", to, from, bytes, kind, nullptr, true);
}
HIPSIM_EXPORT hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                                        hipStream_t stream) {
  return copy("hipMemcpyAsync", to, from, bytes, kind, stream, false);
}
HIPSIM_EXPORT hipError_t hipMemcpyWithStream(void* to, const void* from, std::size_t bytes,
                                             hipMemcpyKind kind, hipStream_t stream) {
  return copy("hipMemcpyWithStream", to, from, bytes, kind, stream, true);
}
HIPSIM_EXPORT hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void* from, std::size_t bytes) {
  return copy("hipMemcpyHtoD", to, from, bytes, hipMemcpyHostToDevice, nullptr, true);
}
HIPSIM_EXPORT hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, std::size_t bytes) {
  return copy("hipMemcpyDtoH", to, from, bytes, hipMemcpyDeviceToHost, nullptr, true);
}
HIPSIM_EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void* from, std::size_t bytes,
                                            hipStream_t stream) {
  return copy("hipMemcpyHtoDAsync", to, from, bytes, hipMemcpyHostToDevice, stream, false);
}
HIPSIM_EXPORT hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, std::size_t bytes,
                                            hipStream_t stream) {
  return copy("hipMemcpyDtoHAsync", to, from, bytes, hipMemcpyDeviceToHost, stream, false);
}
HIPSIM_EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t bytes,
                                            hipStream_t stream) {
  return copy("hipMemcpyDtoDAsync", to, from, bytes, hipMemcpyDeviceToDevice, stream, false);
}
HIPSIM_EXPORT hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                            std::size_t bytes, hipStream_t stream) {
  return copy("hipMemcpyPeerAsync", to, from, bytes, hipMemcpyDeviceToDevice, stream, false,
              {to_device, from_device});
}

HIPSIM_EXPORT hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  return fill("hipMemset", to, std::uint8_t(value), 1, bytes, nullptr, true);
}
HIPSIM_EXPORT hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream) {
  return fill("hipMemsetAsync", to, std::uint8_t(value), 1, bytes, stream);
}
HIPSIM_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, std::size_t count,
                                          hipStream_t s) {
  return fill("hipMemsetD8Async", to, value, 1, count, s);
}
HIPSIM_EXPORT hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, std::size_t count,
                                           hipStream_t s) {
  return fill("hipMemsetD16Async", to, value, 2, count, s);
}
HIPSIM_EXPORT hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, std::size_t count, hipStream_t s) {
  return fill("hipMemsetD32Async", to, std::uint32_t(value), 4, count, s);
}

}  // namespace weir::hipsim
