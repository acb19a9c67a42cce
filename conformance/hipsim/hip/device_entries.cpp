// SPDX-License-Identifier: Apache-2.0
// Devices, their properties and attributes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "hip/entry.hpp"
#include "isa/code/program.hpp"

namespace weir::hipsim {
namespace {

constexpr int clock_khz = 1700000, memory_clock_khz = 1600000, bus_bits = 4096, l2_bytes = 8 << 20,
              lds_bytes = 65536, registers = 65536;

int minor_of(const std::string& architecture) {
  return architecture == "gfx90a" ? 0 : architecture[architecture.size() - 2] - '0';
}

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
  p.minor = minor_of(c.architecture);
  p.multiProcessorCount = c.compute_units;
  p.l2CacheSize = l2_bytes;
  p.maxThreadsPerMultiProcessor = 2048;
  p.clockInstructionRate = 100000;
  p.arch = 0x1ffff;
  p.concurrentKernels = 1;
  p.pciBusID = device.index + 1;
  p.canMapHostMemory = 1;
  p.integrated = c.integrated;
  p.cooperativeLaunch = c.cooperative_launch;
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
struct AttributeRow {
  int number, value;
};

bool attribute(const Device& d, int number, int& value) {
  const DeviceConfig& c = d.config;
  const AttributeRow rows[] = {
      {0, c.sramecc},                            // EccEnabled
      {2, 2},                                    // AsyncEngineCount
      {3, 1},                                    // CanMapHostMemory
      {5, clock_khz},                            // ClockRate
      {8, 1},                                    // ConcurrentKernels
      {9, 0},                                    // ConcurrentManagedAccess
      {10, c.cooperative_launch},                // CooperativeLaunch
      {15, 1},                                   // HostNativeAtomicSupported
      {16, c.integrated},                        // Integrated
      {19, l2_bytes},                            // L2CacheSize
      {23, int(generation_of(c.architecture))},  // ComputeCapabilityMajor
      {24, 0},                                   // ManagedMemory
      {25, 32},                                  // MaxBlocksPerMultiProcessor
      {26, 1024},                                // MaxBlockDimX
      {27, 1024},                                // MaxBlockDimY
      {28, 1024},                                // MaxBlockDimZ
      {29, INT32_MAX},                           // MaxGridDimX
      {30, 65536},                               // MaxGridDimY
      {31, 65536},                               // MaxGridDimZ
      {56, 1024},                                // MaxThreadsPerBlock
      {57, 2048},                                // MaxThreadsPerMultiProcessor
      {59, bus_bits},                            // MemoryBusWidth
      {60, memory_clock_khz},                    // MemoryClockRate
      {61, minor_of(c.architecture)},            // ComputeCapabilityMinor
      {63, c.compute_units},                     // MultiprocessorCount
      {65, c.xnack},                             // PageableMemoryAccess
      {67, d.index + 1},                         // PciBusId
      {68, 0},                                   // PciDeviceId
      {69, 0},                                   // PciDomainID
      {71, registers},                           // MaxRegistersPerBlock
      {72, registers},                           // MaxRegistersPerMultiprocessor
      {74, lds_bytes},                           // MaxSharedMemoryPerBlock
      {76, lds_bytes},                           // SharedMemPerMultiprocessor
      {78, 1},                                   // StreamPrioritiesSupported
      {83, INT32_MAX},                           // TotalConstantMemory
      {85, 1},                                   // UnifiedAddressing
      {87, c.wave_size},                         // WarpSize
      {88, c.memory_pools},                      // MemoryPoolsSupported
      {10002, lds_bytes},                        // MaxSharedMemoryPerMultiprocessor
      {10015, c.compute_units},                  // PhysicalMultiProcessorCount
      {10017, 100000},                           // WallClockRate, kHz
  };
  const auto row = std::ranges::find(rows, number, &AttributeRow::number);
  if (row == std::end(rows)) return false;
  value = row->value;
  return true;
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
    if (available) *available = d.memory_use().free;
    if (total) *total = d.config.memory_bytes;
    return hipSuccess;
  });
}

}  // namespace weir::hipsim
