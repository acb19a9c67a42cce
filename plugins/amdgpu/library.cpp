// SPDX-License-Identifier: Apache-2.0
// libamdhip64, opened when devices are first counted. Its name contains HIP's major version.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <weir/sdk/library.hpp>

#include "hip.hpp"
#include "trusted.hpp"

namespace weir::amdgpu {

namespace {

using sdk::EntryPoint;
constexpr auto need = EntryPoint::required, want = EntryPoint::optional;

#define SHARED(member, symbol, needed) \
  { offsetof(Api, calls) + offsetof(sdk::vendor::Calls, member), symbol, hip_version(5, 2), symbol, needed }
#define OWN(member, symbol, needed) \
  { offsetof(Api, member), symbol, hip_version(5, 2), symbol, needed }

// The functions of libamdhip64 that the driver uses. Only hipGetDeviceProperties has ever changed its form.
constexpr EntryPoint entry_points[] = {
    SHARED(init, "hipInit", need),
    OWN(runtime_version, "hipRuntimeGetVersion", need),
    OWN(error_name, "hipGetErrorName", need),
    OWN(error_text, "hipGetErrorString", need),
    OWN(last_error, "hipGetLastError", need),
    OWN(peek_last_error, "hipPeekAtLastError", need),
    OWN(device_get, "hipGetDevice", need),
    OWN(device_set, "hipSetDevice", need),
    SHARED(device_count, "hipGetDeviceCount", need),
    SHARED(device_name, "hipDeviceGetName", need),
    SHARED(device_attribute, "hipDeviceGetAttribute", need),
    SHARED(device_total_memory, "hipDeviceTotalMem", need),
    SHARED(device_bus_id, "hipDeviceGetPCIBusId", need),
    SHARED(device_uuid, "hipDeviceGetUuid", want),
    SHARED(device_can_access_peer, "hipDeviceCanAccessPeer", need),
    SHARED(synchronize, "hipDeviceSynchronize", need),
    OWN(properties, "hipGetDevicePropertiesR0600", want),
    OWN(properties_until_5, "hipGetDeviceProperties", need),

    OWN(priority_range, "hipDeviceGetStreamPriorityRange", need),
    SHARED(stream_create, "hipStreamCreateWithPriority", need),
    SHARED(stream_destroy, "hipStreamDestroy", need),
    SHARED(stream_query, "hipStreamQuery", need),
    SHARED(stream_synchronize, "hipStreamSynchronize", need),
    SHARED(stream_wait_event, "hipStreamWaitEvent", need),
    OWN(stream_device, "hipStreamGetDevice", want),
    SHARED(host_function, "hipLaunchHostFunc", want),
    OWN(stream_callback, "hipStreamAddCallback", need),
    SHARED(event_create, "hipEventCreateWithFlags", need),
    SHARED(event_destroy, "hipEventDestroy", need),
    SHARED(event_record, "hipEventRecord", need),
    SHARED(event_query, "hipEventQuery", need),
    SHARED(event_synchronize, "hipEventSynchronize", need),
    SHARED(event_elapsed, "hipEventElapsedTime", need),

    SHARED(memory_get_info, "hipMemGetInfo", need),
    SHARED(memory_allocate, "hipMalloc", need),
    SHARED(memory_free, "hipFree", need),
    SHARED(host_allocate, "hipHostMalloc", need),
    SHARED(host_free, "hipHostFree", need),
    SHARED(host_get_address, "hipHostGetDevicePointer", need),
    OWN(pointer_attributes, "hipPointerGetAttributes", need),
    SHARED(pool_create, "hipMemPoolCreate", want),
    SHARED(pool_destroy, "hipMemPoolDestroy", want),
    SHARED(pool_set_attribute, "hipMemPoolSetAttribute", want),
    SHARED(pool_get_attribute, "hipMemPoolGetAttribute", want),
    SHARED(pool_set_access, "hipMemPoolSetAccess", want),
    SHARED(pool_trim, "hipMemPoolTrimTo", want),
    SHARED(pool_allocate, "hipMallocFromPoolAsync", want),
    SHARED(memory_free_async, "hipFreeAsync", want),
    SHARED(copy_to_device, "hipMemcpyHtoDAsync", need),
    SHARED(copy_to_host, "hipMemcpyDtoHAsync", need),
    SHARED(copy_on_device, "hipMemcpyDtoDAsync", need),
    OWN(copy_peer, "hipMemcpyPeerAsync", need),
    SHARED(fill_8, "hipMemsetD8Async", need),
    SHARED(fill_16, "hipMemsetD16Async", need),
    SHARED(fill_32, "hipMemsetD32Async", need),

    OWN(module_load, "hipModuleLoadData", need),
    SHARED(module_unload, "hipModuleUnload", need),
    SHARED(module_get_function, "hipModuleGetFunction", need),
    SHARED(function_get_attribute, "hipFuncGetAttribute", need),
    SHARED(launch, "hipModuleLaunchKernel", need),
    SHARED(resident_blocks, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", want),
    OWN(launch_cooperative, "hipModuleLaunchCooperativeKernel", want),

    SHARED(graph_create, "hipGraphCreate", want),
    SHARED(graph_destroy, "hipGraphDestroy", want),
    SHARED(graph_add_empty, "hipGraphAddEmptyNode", want),
    SHARED(graph_add_kernel, "hipGraphAddKernelNode", want),
    OWN(graph_add_copy, "hipGraphAddMemcpyNode1D", want),
    OWN(graph_add_fill, "hipGraphAddMemsetNode", want),
    SHARED(graph_instantiate, "hipGraphInstantiateWithFlags", want),
    SHARED(graph_set_kernel, "hipGraphExecKernelNodeSetParams", want),
    OWN(graph_set_copy, "hipGraphExecMemcpyNodeSetParams1D", want),
    OWN(graph_set_fill, "hipGraphExecMemsetNodeSetParams", want),
    SHARED(graph_launch, "hipGraphLaunch", want),
    SHARED(graph_executable_destroy, "hipGraphExecDestroy", want),
};
#undef SHARED
#undef OWN

// The last is for images in which the linker does not search ROCm's folder.
constexpr const char* library_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                         "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"};

/// Opens the library that the process has already loaded, because two HIPs in one process do not share
/// memory; otherwise the newest one.
sdk::Library open_library() {
  constexpr const char* variable = "WEIR_AMDGPU_LIBRARY";
  for (const char* name : library_names)
    if (void* loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) {
      dlclose(loaded);
      return sdk::Library::open(variable, std::span(&name, 1));
    }
  return sdk::Library::open(variable, library_names);
}

/// The reason why there is no device, from the files of the kernel driver.
std::string diagnose_kernel_driver() {
  constexpr const char* node = "/dev/kfd";
  if (access(node, R_OK | W_OK) == 0) {
    for (const char* variable : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
      if (const char* value = std::getenv(variable))
        return sdk::format_text("%s is '%.100s'", variable, value);
    return "run rocminfo to list the devices of AMD's driver";
  }
  if (errno == ENOENT)
    return sdk::format_text(
        "there is no %s: no AMD GPU, its kernel driver amdgpu is not loaded, or this container "
        "was started without --device=/dev/kfd --device=/dev/dri",
        node);
  return sdk::format_text("this process may not open %s; its user must be in the groups render and video",
                          node);
}

[[noreturn]] void fail_without_device(Code code) {
  sdk::fail(WEIR_ERROR_NO_DEVICE, "HIP finds no device (%s); %s",
            code == sdk::vendor::success ? "a count of 0" : api.error_name(code),
            diagnose_kernel_driver().c_str());
}

}  // namespace

std::uint32_t Hip::start() {
  const sdk::Library library = open_library();
  const auto find = [&library](const EntryPoint& row) noexcept { return library.symbol(row.symbol); };
  if (const EntryPoint* missing = sdk::fill_entry_points(api, std::span(entry_points), find))
    sdk::fail(WEIR_ERROR_NO_LIBRARY, "%s is too old: it lacks %s, which HIP 5.2 has; install a newer ROCm",
              library.path().c_str(), missing->name);
  // Without a device, some versions fail with "no device 0" instead.
  const Code code = api.calls.init(0);
  if (code == sdk::vendor::no_device || code == invalid_device) fail_without_device(code);
  sdk::vendor::check<Hip>(code, "start");
  const int devices = sdk::vendor::count_devices<Hip>();
  if (devices < 1) fail_without_device(sdk::vendor::success);
  sdk::vendor::Calls& calls = api.calls;
  sdk::vendor::check<Hip>(api.runtime_version(&calls.version), "return its version");
  if (calls.version < hip_version(5, 2))
    sdk::fail(WEIR_ERROR_NO_LIBRARY, "%s is too old: it is of HIP %s; install ROCm 5.2 or newer",
              library.path().c_str(), version_text(calls.version).c_str());
  calls.has_graphs = sdk::has_entry_points(api, entry_points, "hipGraph");
  calls.has_pools = calls.pool_allocate && calls.memory_free_async &&
                    sdk::has_entry_points(api, entry_points, "hipMemPool");
  if (!api.launch_cooperative) calls.resident_blocks = nullptr;
  api.lacks_host_function = !calls.host_function;
  if (api.lacks_host_function) calls.host_function = &add_callback;
  return static_cast<std::uint32_t>(devices);
}

std::string version_text(int number) {
  return sdk::format_text("%d.%d", number / 10'000'000, number / 100'000 % 100);
}

std::string architecture_of(int device) {
  DeviceProperties properties{};
  const Code code =
      api.properties ? api.properties(&properties, device) : api.properties_until_5(&properties, device);
  sdk::vendor::check<Hip>(code, "ask for a device's architecture");
  return properties.bytes +
         (api.properties ? DeviceProperties::architecture_since_6 : DeviceProperties::architecture_until_5);
}

}  // namespace weir::amdgpu
