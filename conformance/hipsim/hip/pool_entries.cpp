// SPDX-License-Identifier: Apache-2.0
// Memory pools, and memory of the program that is made known to the devices.
#include "hip/entry.hpp"

namespace weir::hipsim {
namespace {

/// Each device has one pool, whose handle is the device's number plus one.
hipMemPool_t pool_of(int device) {
  return reinterpret_cast<hipMemPool_t>(std::uintptr_t(device) + 1);
}

Device* device_of(Runtime& r, hipMemPool_t pool) {
  const auto number = reinterpret_cast<std::uintptr_t>(pool);
  if (number == 0 || number > r.devices.size()) return nullptr;
  Device* d = r.devices[number - 1].get();
  return d->config.memory_pools ? d : nullptr;
}

/// Numbers of hipMemPoolAttr.
enum PoolAttribute : int {
  release_threshold = 4,
  reserved_now = 5,
  reserved_most = 6,
  used_now = 7,
  used_most = 8
};

hipError_t get_pool(const char* name, hipMemPool_t* out, int device) {
  return entry(name, [&](Runtime& r) {
    if (!out) return hipErrorInvalidValue;
    if (device < 0 || std::size_t(device) >= r.devices.size()) return hipErrorInvalidDevice;
    if (!r.devices[std::size_t(device)]->config.memory_pools) return hipErrorNotSupported;
    *out = pool_of(device);
    return hipSuccess;
  });
}

}  // namespace

HIPSIM_EXPORT hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* out, int device) {
  return get_pool("hipDeviceGetDefaultMemPool", out, device);
}
HIPSIM_EXPORT hipError_t hipDeviceGetMemPool(hipMemPool_t* out, int device) {
  return get_pool("hipDeviceGetMemPool", out, device);
}
HIPSIM_EXPORT hipError_t hipMemPoolTrimTo(hipMemPool_t pool, std::size_t) {
  // Freed memory goes back at once.
  return entry("hipMemPoolTrimTo",
               [&](Runtime& r) { return device_of(r, pool) ? hipSuccess : hipErrorInvalidValue; });
}
HIPSIM_EXPORT hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, int attribute, void* value) {
  return entry("hipMemPoolSetAttribute", [&](Runtime& r) {
    const bool known = attribute >= 1 && attribute <= used_most;
    return device_of(r, pool) && value && known ? hipSuccess : hipErrorInvalidValue;
  });
}
HIPSIM_EXPORT hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, int attribute, void* value) {
  return entry("hipMemPoolGetAttribute", [&](Runtime& r) {
    Device* d = device_of(r, pool);
    if (!d || !value) return hipErrorInvalidValue;
    switch (attribute) {
      case 1:
      case 2:
      case 3:
        *static_cast<int*>(value) = 1;
        return hipSuccess;
      case release_threshold:
        *static_cast<std::uint64_t*>(value) = 0;
        return hipSuccess;
      case reserved_now:
      case reserved_most:
      case used_now:
      case used_most:
        *static_cast<std::uint64_t*>(value) = d->used();
        return hipSuccess;
      default:
        return hipErrorInvalidValue;
    }
  });
}

HIPSIM_EXPORT hipError_t hipHostRegister(void* pointer, std::size_t size, unsigned) {
  return device_entry("hipHostRegister", [&](Runtime& r, Device& d) {
    if (!pointer || size == 0) return hipErrorInvalidValue;
    constexpr auto already_registered = hipError_t(712);
    if (r.memory.find(reinterpret_cast<std::uint64_t>(pointer))) return already_registered;
    r.memory.adopt(reinterpret_cast<std::uint64_t>(pointer), size, d.index, MemoryKind::host);
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipHostUnregister(void* pointer) {
  return entry("hipHostUnregister", [&](Runtime& r) {
    const auto block = r.memory.find(reinterpret_cast<std::uint64_t>(pointer));
    constexpr auto not_registered = hipError_t(713);
    if (!block || block->storage || block->begin != reinterpret_cast<std::uint64_t>(pointer))
      return not_registered;
    for (const auto& device : r.devices) device->synchronize();
    r.memory.forget(block);
    return hipSuccess;
  });
}

}  // namespace weir::hipsim
