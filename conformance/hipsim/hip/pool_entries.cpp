// SPDX-License-Identifier: Apache-2.0
// Memory pools, and registration of the program's memory with the devices.
#include "hip/entry.hpp"

namespace weir::hipsim {
namespace {

/// Each device has a default pool, whose handle is the device's number plus one. Created pools have other
/// handles. A pool keeps freed memory for itself until it is trimmed or destroyed, and allocations do not
/// wait for pending deallocations. The pools of one device share what they keep.
hipMemPool_t pool_of(int device) {
  return reinterpret_cast<hipMemPool_t>(std::uintptr_t(device) + 1);
}

Device* device_of(Runtime& r, hipMemPool_t pool) {
  if (const auto made = r.pools.find(pool)) return r.devices[std::size_t(made->device)].get();
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

bool is_device(Runtime& r, const hipMemLocation& location) {
  return location.type == 1 && location.id >= 0 && std::size_t(location.id) < r.devices.size();
}

hipError_t allocate(Device& d, void** out, std::size_t size) {
  if (!out) return hipErrorInvalidValue;
  *out = nullptr;
  if (size == 0) return hipSuccess;
  const auto block = d.allocate(size, true);
  if (!block) return hipErrorOutOfMemory;
  *out = pointer_of(block);
  return hipSuccess;
}

}  // namespace

HIPSIM_EXPORT hipError_t hipMallocAsync(void** out, std::size_t size, hipStream_t handle) {
  return device_entry("hipMallocAsync", [&](Runtime& r, Device&) {
    const auto stream = stream_of(r, handle);
    if (!stream) return hipErrorInvalidHandle;
    Device& d = *r.devices[std::size_t(stream->device)];
    return d.config.memory_pools ? allocate(d, out, size) : hipErrorNotSupported;
  });
}
HIPSIM_EXPORT hipError_t hipMallocFromPoolAsync(void** out, std::size_t size, hipMemPool_t pool,
                                                hipStream_t handle) {
  return device_entry("hipMallocFromPoolAsync", [&](Runtime& r, Device&) {
    if (!stream_of(r, handle)) return hipErrorInvalidHandle;
    Device* const d = device_of(r, pool);
    return d ? allocate(*d, out, size) : hipErrorInvalidValue;
  });
}
HIPSIM_EXPORT hipError_t hipMemPoolCreate(hipMemPool_t* out, const hipMemPoolProps* properties) {
  return entry("hipMemPoolCreate", [&](Runtime& r) {
    if (!out || !properties || properties->allocType != 1 || !is_device(r, properties->location))
      return hipErrorInvalidValue;
    if (!r.devices[std::size_t(properties->location.id)]->config.memory_pools) return hipErrorNotSupported;
    *out = r.pools.add<hipMemPool_t>(std::make_shared<MemPool>(MemPool{properties->location.id}));
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  return entry("hipMemPoolDestroy", [&](Runtime& r) {
    Device* const d = device_of(r, pool);
    if (!r.pools.remove(pool)) return hipErrorInvalidValue;
    d->trim_pools();
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* access,
                                             std::size_t count) {
  return entry("hipMemPoolSetAccess", [&](Runtime& r) {
    if (!device_of(r, pool) || !access || count == 0) return hipErrorInvalidValue;
    for (std::size_t n = 0; n < count; ++n)
      if (!is_device(r, access[n].location)) return hipErrorInvalidDevice;
    return hipSuccess;
  });
}

HIPSIM_EXPORT hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* out, int device) {
  return get_pool("hipDeviceGetDefaultMemPool", out, device);
}
HIPSIM_EXPORT hipError_t hipDeviceGetMemPool(hipMemPool_t* out, int device) {
  return get_pool("hipDeviceGetMemPool", out, device);
}
HIPSIM_EXPORT hipError_t hipMemPoolTrimTo(hipMemPool_t pool, std::size_t) {
  return entry("hipMemPoolTrimTo", [&](Runtime& r) {
    Device* const d = device_of(r, pool);
    if (!d) return hipErrorInvalidValue;
    d->trim_pools();
    return hipSuccess;
  });
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
    const Device::MemoryUse use = d->memory_use();
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
        *static_cast<std::uint64_t*>(value) = use.used_by_pools + use.kept;
        return hipSuccess;
      case used_now:
      case used_most:
        *static_cast<std::uint64_t*>(value) = use.used_by_pools;
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
