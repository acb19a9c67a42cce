// SPDX-License-Identifier: Apache-2.0
#include "cuda_api.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace weir::bench::gpu {
namespace {

Cuda open_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(std::string("no CUDA driver: ") + dlerror());
  Cuda api{};
  const auto find = [&](auto& function, const char* symbol) {
    void* found = dlsym(library, symbol);
    if (!found) throw std::runtime_error(std::string("libcuda.so.1 has no ") + symbol);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  find(api.Init, "cuInit");
  find(api.DeviceGet, "cuDeviceGet");
  find(api.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(api.CtxSetCurrent, "cuCtxSetCurrent");
  find(api.CtxSynchronize, "cuCtxSynchronize");
  find(api.GetErrorName, "cuGetErrorName");
  find(api.ModuleLoadData, "cuModuleLoadData");
  find(api.ModuleGetFunction, "cuModuleGetFunction");
  find(api.LaunchKernel, "cuLaunchKernel");
  find(api.StreamCreate, "cuStreamCreate");
  find(api.StreamSynchronize, "cuStreamSynchronize");
  find(api.StreamBeginCapture, "cuStreamBeginCapture_v2");
  find(api.StreamEndCapture, "cuStreamEndCapture");
  find(api.StreamWaitEvent, "cuStreamWaitEvent");
  find(api.EventCreate, "cuEventCreate");
  find(api.EventRecord, "cuEventRecord");
  find(api.MemAlloc, "cuMemAlloc_v2");
  find(api.MemFree, "cuMemFree_v2");
  find(api.MemAllocAsync, "cuMemAllocAsync");
  find(api.MemFreeAsync, "cuMemFreeAsync");
  find(api.MemcpyHtoD, "cuMemcpyHtoD_v2");
  find(api.MemcpyDtoH, "cuMemcpyDtoH_v2");
  find(api.DeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool");
  find(api.MemPoolSetAttribute, "cuMemPoolSetAttribute");
  find(api.GraphCreate, "cuGraphCreate");
  find(api.GraphAddKernelNode, "cuGraphAddKernelNode_v2");
  find(api.GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
  find(api.GraphLaunch, "cuGraphLaunch");
  find(api.ProfilerStart, "cuProfilerStart");
  find(api.ProfilerStop, "cuProfilerStop");
  return api;
}

void check_with(const Cuda& api, CUresult result, const char* what) {
  if (result == 0) return;
  const char* name = nullptr;
  api.GetErrorName(result, &name);
  throw std::runtime_error(std::string(what) + ": " + (name ? name : std::to_string(result)));
}

}  // namespace

const Cuda& cuda() {
  static const Cuda api = [] {
    Cuda opened = open_driver();
    check_with(opened, opened.Init(0), "cuInit");
    check_with(opened, opened.DeviceGet(&opened.device, 0), "cuDeviceGet");
    check_with(opened, opened.DevicePrimaryCtxRetain(&opened.context, opened.device),
               "cuDevicePrimaryCtxRetain");
    return opened;
  }();
  check_with(api, api.CtxSetCurrent(api.context), "cuCtxSetCurrent");
  return api;
}

void check(CUresult result, const char* what) {
  if (result != 0) check_with(cuda(), result, what);
}

CUfunction load(const std::string& ptx, const char* name) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  check(cuda().ModuleLoadData(&module, ptx.c_str()), "cuModuleLoadData");
  check(cuda().ModuleGetFunction(&function, module, name), "cuModuleGetFunction");
  return function;
}

CUstream make_stream() {
  CUstream stream = nullptr;
  check(cuda().StreamCreate(&stream, stream_non_blocking), "cuStreamCreate");
  return stream;
}

CUevent make_event() {
  CUevent event = nullptr;
  check(cuda().EventCreate(&event, event_disable_timing), "cuEventCreate");
  return event;
}

}  // namespace weir::bench::gpu
