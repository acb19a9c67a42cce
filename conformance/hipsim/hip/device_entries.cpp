// SPDX-License-Identifier: Apache-2.0
// Devices, their properties and attributes.
#include <cstdio>
#include <cstring>

#include "hip/entry.hpp"
#include "isa/code/program.hpp"

namespace weir::hipsim {
namespace {

constexpr int clock_khz = 1700000, memory_clock_khz = 1600000, bus_bits = 4096, l2_bytes = 8 << 20,
              lds_bytes = 65536, registers = 65536;

template <class Properties>
void fill_common(const Device& device, Properties& p) {
  const DeviceConfig& c = device.config;
  std::memset(&p, 0, sizeof(p));
  std::snprintf(p.name, sizeof(p.name), "%s", c.name.c_str());
  std::snprintf(p.gcnArchName, sizeof(p.gcnArchName), "%s", c.target_name().c_str());
  p.totalGlobalMem = c.memory_bytes;
  p.sharedMemPerBlock = lds_bytes;
  p.maxSharedMemoryPerMultiProcessor = lds_bytes;
  p.regsPerBlock = registers;
  p.warpSize = c.wave_size;
  p.maxThreadsPerBlock = 1024;
  for (int& d : p.maxThreadsDim) d = 1024;
  p.maxGridSize[0] = INT32_MAX;
  p.maxGridSize[1] = p.maxGridSize[2] = 65536;
  p.clockRate = clock_khz;
  p.memoryClockRate = memory_clock_khz;
  p.memoryBusWidth = bus_bits;
  p.totalConstMem = INT32_MAX;
  const unsigned generation = generation_of(c.architecture);
  p.major = int(generation);
  p.minor = c.architecture == "gfx90a" ? 0 : c.architecture[c.architecture.size() - 2] - '0';
  p.multiProcessorCount = c.compute_units;
  p.l2CacheSize = l2_bytes;
  p.maxThreadsPerMultiProcessor = 2048;
  p.clockInstructionRate = 100000;
  p.arch = 0x1ffff;
  p.concurrentKernels = 1;
  p.pciBusID = device.index + 1;
  p.canMapHostMemory = 1;
  p.integrated = c.integrated;
  p.cooperativeLaunch = 0;
  p.memPitch = INT32_MAX;
  p.textureAlignment = 256;
  p.texturePitchAlignment = 256;
  p.ECCEnabled = c.sramecc;
  p.isLargeBar = 1;
  p.pageableMemoryAccess = c.xnack;
}

Device* device_of(Runtime& r, int index) {
  return index < 0 || std::size_t(index) >= r.devices.size() ? nullptr : r.devices[std::size_t(index)].get();
}

/// Numbers of hipDeviceAttribute_t, the same in HIP 5.2, 6 and 7.
bool attribute(const Device& d, int number, int& value) {
  const DeviceConfig& c = d.config;
  switch (number) {
    case 0:
      value = c.sramecc;
      return true;
    case 2:
      value = 2;
      return true;  // asynchronous engines
    case 3:
      value = 1;
      return true;  // maps host memory
    case 5:
      value = clock_khz;
      return true;
    case 8:
      value = 1;
      return true;  // concurrent kernels
    case 9:
      value = 0;
      return true;  // concurrent managed access
    case 10:
      value = 0;
      return true;  // cooperative launch
    case 15:
      value = 1;
      return true;  // native atomics with the host
    case 16:
      value = c.integrated;
      return true;
    case 19:
      value = l2_bytes;
      return true;
    case 23:
      value = int(generation_of(c.architecture));
      return true;
    case 24:
      value = 0;
      return true;  // managed memory
    case 25:
      value = 32;
      return true;  // blocks on a multiprocessor
    case 26:
    case 27:
    case 28:
      value = 1024;
      return true;
    case 29:
      value = INT32_MAX;
      return true;
    case 30:
    case 31:
      value = 65536;
      return true;
    case 56:
      value = 1024;
      return true;
    case 57:
      value = 2048;
      return true;
    case 59:
      value = bus_bits;
      return true;
    case 60:
      value = memory_clock_khz;
      return true;
    case 61:
      value = c.architecture == "gfx90a" ? 0 : c.architecture[c.architecture.size() - 2] - '0';
      return true;
    case 63:
      value = c.compute_units;
      return true;
    case 65:
      value = c.xnack;
      return true;
    case 67:
      value = d.index + 1;
      return true;
    case 68:
    case 69:
      value = 0;
      return true;
    case 71:
    case 72:
      value = registers;
      return true;
    case 74:
    case 76:
    case 10002:
      value = lds_bytes;
      return true;
    case 78:
      value = 1;
      return true;  // stream priorities
    case 83:
      value = INT32_MAX;
      return true;
    case 85:
      value = 1;
      return true;  // unified addressing
    case 87:
      value = c.wave_size;
      return true;
    case 88:
      value = c.memory_pools;
      return true;
    case 10015:
      value = c.compute_units;
      return true;
    case 10017:
      value = 100000;
      return true;  // wall clock, kHz
    default:
      return false;
  }
}

}  // namespace

HIPSIM_EXPORT hipError_t hipGetDeviceCount(int* count) {
  return entry("hipGetDeviceCount", [&](Runtime& r) {
    if (!count) return hipErrorInvalidValue;
    *count = int(r.devices.size());
    return r.devices.empty() ? hipErrorNoDevice : hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipGetDevice(int* index) {
  return entry("hipGetDevice", [&](Runtime& r) {
    if (!index) return hipErrorInvalidValue;
    if (r.devices.empty()) return hipErrorNoDevice;
    *index = Runtime::current_index();
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipSetDevice(int index) {
  return entry("hipSetDevice", [&](Runtime& r) {
    if (!device_of(r, index)) return r.devices.empty() ? hipErrorNoDevice : hipErrorInvalidDevice;
    Runtime::current_index() = index;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceGet(hipDevice_t* device, int index) {
  return entry("hipDeviceGet", [&](Runtime& r) {
    if (!device) return hipErrorInvalidValue;
    if (!device_of(r, index)) return hipErrorInvalidDevice;
    *device = index;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceGetName(char* name, int length, hipDevice_t index) {
  return entry("hipDeviceGetName", [&](Runtime& r) {
    const Device* d = device_of(r, index);
    if (!name || length <= 0) return hipErrorInvalidValue;
    if (!d) return hipErrorInvalidDevice;
    std::snprintf(name, std::size_t(length), "%s", d->config.name.c_str());
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t index) {
  return entry("hipDeviceTotalMem", [&](Runtime& r) {
    const Device* d = device_of(r, index);
    if (!bytes) return hipErrorInvalidValue;
    if (!d) return hipErrorInvalidDevice;
    *bytes = d->config.memory_bytes;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceGetPCIBusId(char* text, int length, int index) {
  return entry("hipDeviceGetPCIBusId", [&](Runtime& r) {
    const Device* d = device_of(r, index);
    if (!text || length <= 0) return hipErrorInvalidValue;
    if (!d) return hipErrorInvalidDevice;
    std::snprintf(text, std::size_t(length), "0000:%02x:00.0", d->index + 1);
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t index) {
  return entry("hipDeviceGetUuid", [&](Runtime& r) {
    if (!uuid) return hipErrorInvalidValue;
    if (!device_of(r, index)) return hipErrorInvalidDevice;
    std::snprintf(uuid->bytes, sizeof(uuid->bytes), "hipsim-%08x", unsigned(index));
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_t_R0000* p, int index) {
  return entry("hipGetDeviceProperties", [&](Runtime& r) {
    const Device* d = device_of(r, index);
    if (!p) return hipErrorInvalidValue;
    if (!d) return hipErrorInvalidDevice;
    fill_common(*d, *p);
    p->gcnArch = d->config.architecture == "gfx906" ? 906 : d->config.architecture == "gfx908" ? 908 : 0;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t_R0600* p, int index) {
  return entry("hipGetDevicePropertiesR0600", [&](Runtime& r) {
    const Device* d = device_of(r, index);
    if (!p) return hipErrorInvalidValue;
    if (!d) return hipErrorInvalidDevice;
    fill_common(*d, *p);
    std::snprintf(p->uuid.bytes, sizeof(p->uuid.bytes), "hipsim-%08x", unsigned(index));
    p->asyncEngineCount = 2;
    p->unifiedAddressing = 1;
    p->streamPrioritiesSupported = 1;
    p->sharedMemPerMultiprocessor = lds_bytes;
    p->sharedMemPerBlockOptin = lds_bytes;
    p->regsPerMultiprocessor = registers;
    p->maxBlocksPerMultiProcessor = 32;
    p->hostRegisterSupported = 1;
    p->memoryPoolsSupported = d->config.memory_pools;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceGetAttribute(int* value, int number, int index) {
  return entry("hipDeviceGetAttribute", [&](Runtime& r) {
    const Device* d = device_of(r, index);
    if (!value) return hipErrorInvalidValue;
    if (!d) return hipErrorInvalidDevice;
    return attribute(*d, number, *value) ? hipSuccess : hipErrorInvalidValue;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return entry("hipDeviceGetStreamPriorityRange", [&](Runtime&) {
    if (least) *least = 1;
    if (greatest) *greatest = -1;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceSynchronize() {
  return device_entry("hipDeviceSynchronize", [&](Runtime&, Device& d) {
    d.synchronize();
    return d.error();
  });
}
HIPSIM_EXPORT hipError_t hipDeviceReset() {
  return entry("hipDeviceReset", [&](Runtime& r) {
    if (r.devices.empty()) return hipErrorNoDevice;
    r.current().synchronize();
    r.current().clear_error();
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return entry("hipDeviceCanAccessPeer", [&](Runtime& r) {
    if (!can) return hipErrorInvalidValue;
    if (!device_of(r, device) || !device_of(r, peer)) return hipErrorInvalidDevice;
    *can = device != peer;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return entry("hipDeviceEnablePeerAccess", [&](Runtime& r) {
    if (flags != 0) return hipErrorInvalidValue;
    if (!device_of(r, peer) || peer == Runtime::current_index()) return hipErrorInvalidDevice;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipDeviceDisablePeerAccess(int peer) {
  return entry("hipDeviceDisablePeerAccess",
               [&](Runtime& r) { return device_of(r, peer) ? hipSuccess : hipErrorInvalidDevice; });
}
HIPSIM_EXPORT hipError_t hipMemGetInfo(std::size_t* available, std::size_t* total) {
  return device_entry("hipMemGetInfo", [&](Runtime&, Device& d) {
    if (available) *available = d.config.memory_bytes - d.used();
    if (total) *total = d.config.memory_bytes;
    return hipSuccess;
  });
}

}  // namespace weir::hipsim
