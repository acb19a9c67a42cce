// SPDX-License-Identifier: Apache-2.0
// The HIP functions used by tests, and RAII objects for them. Tests are linked with the simulator.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "hip/abi.hpp"

extern "C" {
const char* hipGetErrorName(hipError_t);
hipError_t hipGetLastError();
hipError_t hipInit(unsigned);
hipError_t hipRuntimeGetVersion(int*);
hipError_t hipGetDeviceCount(int*);
hipError_t hipSetDevice(int);
hipError_t hipGetDeviceProperties(hipDeviceProp_t_R0000*, int);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t_R0600*, int);
hipError_t hipDeviceGetAttribute(int*, int, int);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipMemGetInfo(std::size_t*, std::size_t*);
hipError_t hipMalloc(void**, std::size_t);
hipError_t hipFree(void*);
hipError_t hipMallocAsync(void**, std::size_t, hipStream_t);
hipError_t hipFreeAsync(void*, hipStream_t);
hipError_t hipHostMalloc(void**, std::size_t, unsigned);
hipError_t hipHostFree(void*);
hipError_t hipHostRegister(void*, std::size_t, unsigned);
hipError_t hipHostUnregister(void*);
hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t*, int);
hipError_t hipMemPoolGetAttribute(hipMemPool_t, int, void*);
hipError_t hipMemcpy(void*, const void*, std::size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void*, const void*, std::size_t, hipMemcpyKind, hipStream_t);
hipError_t hipMemcpyPeerAsync(void*, int, const void*, int, std::size_t, hipStream_t);
hipError_t hipMemsetD8Async(void*, unsigned char, std::size_t, hipStream_t);
hipError_t hipMemsetD16Async(void*, unsigned short, std::size_t, hipStream_t);
hipError_t hipMemsetD32Async(void*, int, std::size_t, hipStream_t);
hipError_t hipStreamCreate(hipStream_t*);
hipError_t hipStreamCreateWithFlags(hipStream_t*, unsigned);
hipError_t hipStreamCreateWithPriority(hipStream_t*, unsigned, int);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamQuery(hipStream_t);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned);
hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t, void*);
hipError_t hipEventCreateWithFlags(hipEvent_t*, unsigned);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t);
hipError_t hipEventQuery(hipEvent_t);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipModuleLoadData(hipModule_t*, const void*);
hipError_t hipModuleUnload(hipModule_t);
hipError_t hipModuleGetFunction(hipFunction_t*, hipModule_t, const char*);
hipError_t hipModuleGetGlobal(void**, std::size_t*, hipModule_t, const char*);
hipError_t hipFuncGetAttribute(int*, int, hipFunction_t);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, hipStream_t, void**, void**);
hipError_t hipGraphCreate(hipGraph_t*, unsigned);
hipError_t hipGraphDestroy(hipGraph_t);
hipError_t hipGraphAddEmptyNode(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t);
hipError_t hipGraphAddKernelNode(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t,
                                 const hipKernelNodeParams*);
hipError_t hipGraphAddMemsetNode(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t,
                                 const hipMemsetParams*);
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, void*,
                                   const void*, std::size_t, hipMemcpyKind);
hipError_t hipGraphAddDependencies(hipGraph_t, const hipGraphNode_t*, const hipGraphNode_t*, std::size_t);
hipError_t hipGraphInstantiate(hipGraphExec_t*, hipGraph_t, hipGraphNode_t*, char*, std::size_t);
hipError_t hipGraphExecDestroy(hipGraphExec_t);
hipError_t hipGraphLaunch(hipGraphExec_t, hipStream_t);
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t, hipGraphNode_t, const hipKernelNodeParams*);
}

namespace weir::hipsim::test {

inline void require(hipError_t error, const char* what) {
  if (error != hipSuccess) throw std::runtime_error(std::string(what) + ": " + hipGetErrorName(error));
}
#define HIP(call) ::weir::hipsim::test::require(call, #call)

/// Makes the device of an architecture current; main.cpp configures one device for each.
inline void use_device_of(const std::string& architecture) {
  int count = 0;
  HIP(hipGetDeviceCount(&count));
  for (int n = 0; n < count; ++n) {
    hipDeviceProp_t_R0600 properties;
    HIP(hipGetDevicePropertiesR0600(&properties, n));
    const std::string name = properties.gcnArchName;
    if (name.substr(0, name.find(':')) == architecture) return HIP(hipSetDevice(n));
  }
  throw std::runtime_error("no device is a " + architecture);
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    HIP(hipMalloc(&pointer_, size_ * sizeof(T)));
    HIP(hipMemcpy(pointer_, values.data(), size_ * sizeof(T), hipMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { hipFree(pointer_); }
  void* pointer() const { return pointer_; }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    HIP(hipMemcpy(values.data(), pointer_, size_ * sizeof(T), hipMemcpyDeviceToHost));
    return values;
  }

 private:
  void* pointer_ = nullptr;
  std::size_t size_;
};

/// A kernel whose arguments are pointers and numbers, launched with one argument block.
class LoadedKernel {
 public:
  explicit LoadedKernel(hipFunction_t function) : function_(function) {}
  template <class... A>
  void launch(unsigned grid, unsigned block, A... arguments) const {
    HIP(try_launch(grid, block, 0, nullptr, arguments...));
    HIP(hipDeviceSynchronize());
  }
  template <class... A>
  hipError_t try_launch(unsigned grid, unsigned block, unsigned lds, hipStream_t stream,
                        A... arguments) const {
    std::vector<unsigned char> bytes;
    (put(bytes, arguments), ...);
    std::size_t size = bytes.size();
    void* extra[] = {reinterpret_cast<void*>(1), bytes.data(), reinterpret_cast<void*>(2), &size,
                     reinterpret_cast<void*>(3)};
    return hipModuleLaunchKernel(function_, grid, 1, 1, block, 1, 1, lds, stream, nullptr, extra);
  }
  hipFunction_t handle() const { return function_; }

 private:
  template <class T>
  static void put(std::vector<unsigned char>& bytes, T value) {
    bytes.resize((bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T) + sizeof(T));
    std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
  }
  hipFunction_t function_;
};

class LoadedModule {
 public:
  explicit LoadedModule(const std::vector<std::uint8_t>& image) {
    HIP(hipModuleLoadData(&module_, image.data()));
  }
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  ~LoadedModule() { hipModuleUnload(module_); }
  LoadedKernel kernel(const std::string& name) const {
    hipFunction_t function;
    HIP(hipModuleGetFunction(&function, module_, name.c_str()));
    return LoadedKernel(function);
  }
  hipModule_t handle() const { return module_; }

 private:
  hipModule_t module_ = nullptr;
};

}  // namespace weir::hipsim::test
