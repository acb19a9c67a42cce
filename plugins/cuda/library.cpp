// SPDX-License-Identifier: Apache-2.0
// libcuda.so.1, which belongs to the kernel driver and not to the toolkit; opened when devices are first
// counted.
#include <cstdlib>
#include <mutex>
#include <weir/sdk/library.hpp>

#include "cuda.hpp"

namespace weir::cuda {

namespace {

using sdk::EntryPoint;
constexpr auto optional = EntryPoint::optional;

#define COMMON(member) offsetof(Api, calls) + offsetof(sdk::vendor::Calls, member)
#define OWN(member) offsetof(Api, member)

// The functions of libcuda that the driver uses. The version is that of the CUDA release that introduced this
// form of the function; newer libraries still provide it. The symbol is for libraries before CUDA 11.3, which
// lack cuGetProcAddress.
constexpr EntryPoint entry_points[] = {
    {COMMON(init), "cuInit", 2000, "cuInit"},
    {OWN(driver_version), "cuDriverGetVersion", 2020, "cuDriverGetVersion"},
    {OWN(error_name), "cuGetErrorName", 6000, "cuGetErrorName"},
    {OWN(error_string), "cuGetErrorString", 6000, "cuGetErrorString"},
    {COMMON(device_count), "cuDeviceGetCount", 2000, "cuDeviceGetCount"},
    {COMMON(device_name), "cuDeviceGetName", 2000, "cuDeviceGetName"},
    {COMMON(device_attribute), "cuDeviceGetAttribute", 2000, "cuDeviceGetAttribute"},
    {COMMON(device_total_memory), "cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2"},
    {COMMON(device_bus_id), "cuDeviceGetPCIBusId", 4010, "cuDeviceGetPCIBusId"},
    {COMMON(device_uuid), "cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2", optional},
    {COMMON(device_uuid), "cuDeviceGetUuid", 9020, "cuDeviceGetUuid", optional},
    {COMMON(device_can_access_peer), "cuDeviceCanAccessPeer", 4000, "cuDeviceCanAccessPeer"},
    {OWN(primary_retain), "cuDevicePrimaryCtxRetain", 7000, "cuDevicePrimaryCtxRetain"},
    {OWN(context_get), "cuCtxGetCurrent", 4000, "cuCtxGetCurrent"},
    {OWN(context_set), "cuCtxSetCurrent", 4000, "cuCtxSetCurrent"},
    {COMMON(synchronize), "cuCtxSynchronize", 2000, "cuCtxSynchronize"},

    {COMMON(stream_create), "cuStreamCreateWithPriority", 5050, "cuStreamCreateWithPriority"},
    {COMMON(stream_destroy), "cuStreamDestroy", 4000, "cuStreamDestroy_v2"},
    {COMMON(stream_query), "cuStreamQuery", 2000, "cuStreamQuery"},
    {COMMON(stream_synchronize), "cuStreamSynchronize", 2000, "cuStreamSynchronize"},
    {COMMON(stream_wait_event), "cuStreamWaitEvent", 3020, "cuStreamWaitEvent"},
    {OWN(stream_context), "cuStreamGetCtx", 9020, "cuStreamGetCtx"},
    {COMMON(host_function), "cuLaunchHostFunc", 10000, "cuLaunchHostFunc"},
    {COMMON(event_create), "cuEventCreate", 2000, "cuEventCreate"},
    {COMMON(event_destroy), "cuEventDestroy", 4000, "cuEventDestroy_v2"},
    {COMMON(event_record), "cuEventRecord", 2000, "cuEventRecord"},
    {COMMON(event_query), "cuEventQuery", 2000, "cuEventQuery"},
    {COMMON(event_synchronize), "cuEventSynchronize", 2000, "cuEventSynchronize"},
    {COMMON(event_elapsed), "cuEventElapsedTime", 2000, "cuEventElapsedTime"},

    {COMMON(memory_get_info), "cuMemGetInfo", 3020, "cuMemGetInfo_v2"},
    {COMMON(memory_allocate), "cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {COMMON(memory_free), "cuMemFree", 3020, "cuMemFree_v2"},
    {COMMON(host_allocate), "cuMemHostAlloc", 2020, "cuMemHostAlloc"},
    {COMMON(host_free), "cuMemFreeHost", 2000, "cuMemFreeHost"},
    {COMMON(host_get_address), "cuMemHostGetDevicePointer", 3020, "cuMemHostGetDevicePointer_v2"},
    {OWN(pointer_attribute), "cuPointerGetAttribute", 4000, "cuPointerGetAttribute"},
    {COMMON(pool_create), "cuMemPoolCreate", 11020, "cuMemPoolCreate", optional},
    {COMMON(pool_destroy), "cuMemPoolDestroy", 11020, "cuMemPoolDestroy", optional},
    {COMMON(pool_set_attribute), "cuMemPoolSetAttribute", 11020, "cuMemPoolSetAttribute", optional},
    {COMMON(pool_get_attribute), "cuMemPoolGetAttribute", 11020, "cuMemPoolGetAttribute", optional},
    {COMMON(pool_set_access), "cuMemPoolSetAccess", 11020, "cuMemPoolSetAccess", optional},
    {COMMON(pool_trim), "cuMemPoolTrimTo", 11020, "cuMemPoolTrimTo", optional},
    {COMMON(pool_allocate), "cuMemAllocFromPoolAsync", 11020, "cuMemAllocFromPoolAsync", optional},
    {COMMON(memory_free_async), "cuMemFreeAsync", 11020, "cuMemFreeAsync", optional},
    {COMMON(copy_to_device), "cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2"},
    {COMMON(copy_to_host), "cuMemcpyDtoHAsync", 3020, "cuMemcpyDtoHAsync_v2"},
    {COMMON(copy_on_device), "cuMemcpyDtoDAsync", 3020, "cuMemcpyDtoDAsync_v2"},
    {OWN(copy_peer), "cuMemcpyPeerAsync", 4000, "cuMemcpyPeerAsync"},
    {COMMON(fill_8), "cuMemsetD8Async", 3020, "cuMemsetD8Async"},
    {COMMON(fill_16), "cuMemsetD16Async", 3020, "cuMemsetD16Async"},
    {COMMON(fill_32), "cuMemsetD32Async", 3020, "cuMemsetD32Async"},
    {OWN(fill_2d_32), "cuMemsetD2D32Async", 3020, "cuMemsetD2D32Async"},

    {OWN(module_load), "cuModuleLoadDataEx", 2010, "cuModuleLoadDataEx"},
    {COMMON(module_unload), "cuModuleUnload", 2000, "cuModuleUnload"},
    {COMMON(module_get_function), "cuModuleGetFunction", 2000, "cuModuleGetFunction"},
    {COMMON(function_get_attribute), "cuFuncGetAttribute", 2020, "cuFuncGetAttribute"},
    {COMMON(function_set_attribute), "cuFuncSetAttribute", 9000, "cuFuncSetAttribute"},
    {OWN(function_load), "cuFuncLoad", 12040, "cuFuncLoad", optional},
    {OWN(function_parameter), "cuFuncGetParamInfo", 12040, "cuFuncGetParamInfo", optional},
    {COMMON(launch), "cuLaunchKernel", 4000, "cuLaunchKernel"},
    {COMMON(resident_blocks), "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,
     "cuOccupancyMaxActiveBlocksPerMultiprocessor", optional},
    {OWN(launch_configured), "cuLaunchKernelEx", 11060, "cuLaunchKernelEx", optional},

    {COMMON(graph_create), "cuGraphCreate", 10000, "cuGraphCreate", optional},
    {COMMON(graph_destroy), "cuGraphDestroy", 10000, "cuGraphDestroy", optional},
    {COMMON(graph_add_empty), "cuGraphAddEmptyNode", 10000, "cuGraphAddEmptyNode", optional},
    {COMMON(graph_add_kernel), "cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2", optional},
    {COMMON(graph_add_kernel), "cuGraphAddKernelNode", 10000, "cuGraphAddKernelNode", optional},
    {OWN(graph_set_attribute), "cuGraphKernelNodeSetAttribute", 11000, "cuGraphKernelNodeSetAttribute",
     optional},
    {OWN(graph_add_copy), "cuGraphAddMemcpyNode", 10000, "cuGraphAddMemcpyNode", optional},
    {OWN(graph_add_fill), "cuGraphAddMemsetNode", 10000, "cuGraphAddMemsetNode", optional},
    {COMMON(graph_instantiate), "cuGraphInstantiateWithFlags", 11040, "cuGraphInstantiateWithFlags",
     optional},
    {COMMON(graph_set_kernel), "cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2",
     optional},
    {COMMON(graph_set_kernel), "cuGraphExecKernelNodeSetParams", 10010, "cuGraphExecKernelNodeSetParams",
     optional},
    {OWN(graph_set_copy), "cuGraphExecMemcpyNodeSetParams", 10020, "cuGraphExecMemcpyNodeSetParams",
     optional},
    {OWN(graph_set_fill), "cuGraphExecMemsetNodeSetParams", 10020, "cuGraphExecMemsetNodeSetParams",
     optional},
    {COMMON(graph_launch), "cuGraphLaunch", 10000, "cuGraphLaunch", optional},
    {COMMON(graph_executable_destroy), "cuGraphExecDestroy", 10000, "cuGraphExecDestroy", optional},
};
#undef COMMON
#undef OWN

struct Finder {
  using ByVersion1 = Code (*)(const char* name, void** out, int version, std::uint64_t flags);
  using ByVersion2 = Code (*)(const char* name, void** out, int version, std::uint64_t flags, int* found);

  explicit Finder(const sdk::Library& l)
      : library(l),
        version2(l.function<ByVersion2>("cuGetProcAddress_v2")),
        version1(l.function<ByVersion1>("cuGetProcAddress")) {}

  void* operator()(const EntryPoint& row) const noexcept {
    void* out = nullptr;
    int found = 0;
    if (version2) return version2(row.name, &out, row.version, 0, &found) == 0 ? out : nullptr;
    if (version1) return version1(row.name, &out, row.version, 0) == 0 ? out : nullptr;
    return library.symbol(row.symbol);
  }

  const sdk::Library& library;
  ByVersion2 version2;
  ByVersion1 version1;
};

std::string version_text(int number) {
  return sdk::format_text("%d.%d", number / 1000, number % 1000 / 10);
}

}  // namespace

std::uint32_t Cuda::start() {
  constexpr const char* names[] = {"libcuda.so.1"};
  const sdk::Library library = sdk::Library::open("WEIR_CUDA_LIBRARY", names);
  const EntryPoint* missing = sdk::fill_entry_points(api, std::span(entry_points), Finder(library));
  int& version = api.calls.version;
  if (api.driver_version) api.driver_version(&version);
  api.calls.has_pools = sdk::has_entry_points(api, std::span(entry_points), "cuMemPool") &&
                        api.calls.pool_allocate && api.calls.memory_free_async;
  if (!api.launch_configured) api.calls.resident_blocks = nullptr;
  api.calls.has_graphs = sdk::has_entry_points(api, std::span(entry_points), "cuGraph");
  if (missing)
    sdk::fail(
        WEIR_ERROR_NO_LIBRARY,
        "%s is too old: it is of CUDA %s and lacks %s, which CUDA %s has; install a newer NVIDIA driver",
        library.path().c_str(), version_text(version).c_str(), missing->name,
        version_text(missing->version).c_str());
  if (const Code code = api.calls.init(0); code == sdk::vendor::no_device) {
    sdk::Failure failure = sdk::vendor::failure_of<Cuda>(code, "start");
    failure.message += "; no NVIDIA GPU is present, or this process may not use one";
    throw failure;
  } else if (code == stub_library) {
    sdk::Failure failure = sdk::vendor::failure_of<Cuda>(code, "start");
    failure.message += sdk::format_text("; %s is the toolkit's stub, remove its folder from LD_LIBRARY_PATH",
                                        library.path().c_str());
    throw failure;
  } else {
    sdk::vendor::check<Cuda>(code, "start");
  }
  const int count = sdk::vendor::count_devices<Cuda>();
  if (count < 1) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    sdk::fail(WEIR_ERROR_NO_DEVICE, "CUDA finds no device; %s",
              visible ? sdk::format_text("CUDA_VISIBLE_DEVICES is '%.100s'", visible).c_str()
                      : "CUDA_VISIBLE_DEVICES is not set");
  }
  return static_cast<std::uint32_t>(count);
}

}  // namespace weir::cuda
