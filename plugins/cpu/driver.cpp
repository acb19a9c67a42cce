// SPDX-License-Identifier: Apache-2.0
// The entry point and the table.
#include "functions.hpp"
#include "object.hpp"
#include "stream/scheduler.hpp"

namespace weir::cpu {
namespace {

// Device information for hosts of older versions: without the capabilities from bit `first_unknown` on.
template <std::uint64_t first_unknown>
weir_result older_device_get_info(uint32_t index, weir_device_info* info, weir_status* status) {
  const weir_result result = device_get_info(index, info, status);
  if (result == WEIR_OK && info->struct_size >= offsetof(weir_device_info, capabilities) + sizeof info->capabilities)
    info->capabilities &= first_unknown - 1;
  return result;
}

constexpr auto device_get_info_of(std::uint32_t minor) {
  return minor == 0   ? older_device_get_info<WEIR_CAP_GRAPHS>
         : minor == 1 ? older_device_get_info<WEIR_CAP_EXTERNAL_MEMORY>
         : minor == 2 ? older_device_get_info<WEIR_CAP_CODE_COMPILE>
         : minor == 3 ? older_device_get_info<WEIR_CAP_COOPERATIVE_LAUNCH>
                      : device_get_info;
}

constexpr weir_driver_table table_of(std::uint32_t abi_version) {
  return {
      .struct_size = sizeof(weir_driver_table),
      .abi_version = abi_version,
      .name = "cpu",
      .version = WEIR_VERSION,
      .vendor = "Weir",
      .device_count = device_count,
      .device_open = device_open,
      .device_close = device_close,
      .device_get_info = device_get_info_of(WEIR_ABI_MINOR(abi_version)),
      .device_get_memory = device_get_memory,
      .stream_create = stream_create,
      .stream_destroy = stream_destroy,
      .stream_flush = stream_flush,
      .stream_query = stream_query,
      .stream_synchronize = stream_synchronize,
      .stream_wait_event = stream_wait_event,
      .stream_host_callback = stream_host_callback,
      .stream_wrap = stream_wrap,
      .stream_get_native = stream_get_native,
      .event_create = event_create,
      .event_destroy = event_destroy,
      .event_record = event_record,
      .event_query = event_query,
      .event_synchronize = event_synchronize,
      .event_elapsed = event_elapsed,
      .memory_allocate = memory_allocate,
      .memory_free = memory_free,
      .memory_allocate_async = memory_allocate_async,
      .memory_free_async = memory_free_async,
      .memory_get_info = memory_get_info,
      .copy_to_device = copy_to_device,
      .copy_to_host = copy_to_host,
      .copy_on_device = copy_on_device,
      .copy_peer = copy_peer,
      .fill = fill,
      .module_load = module_load,
      .module_unload = module_unload,
      .module_get_kernel = module_get_kernel,
      .kernel_get_info = kernel_get_info,
      .kernel_launch = kernel_launch,
      .get_extension = get_extension,
      .graph_create = graph_create,
      .graph_update = graph_update,
      .graph_launch = graph_launch,
      .graph_destroy = graph_destroy,
      .memory_wrap = memory_wrap,
      .code_compile = code_compile,
      .kernel_max_cooperative_blocks = kernel_max_cooperative_blocks,
  };
}

// The newest first. Minor versions only append to the table, so all have the same functions.
constexpr weir_driver_table tables[] = {table_of(WEIR_ABI_VERSION(1, 4)), table_of(WEIR_ABI_VERSION(1, 3)),
                                        table_of(WEIR_ABI_VERSION(1, 2)), table_of(WEIR_ABI_VERSION(1, 1)),
                                        table_of(WEIR_ABI_VERSION(1, 0))};

}  // namespace

weir_result get_extension(const char* name, uint32_t version, const void** out_table, weir_status* status) {
  return guarded(status, [&] {
    if (!name) fail(WEIR_ERROR_INVALID, "name is null; expected the name of an extension");
    output(out_table, "out_table");
    fail(WEIR_ERROR_NOT_FOUND, "the CPU driver has no extension '%.64s' of version %u; it has none", name, version);
  });
}

}  // namespace weir::cpu

extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                                         weir_status* status) {
  using namespace weir::cpu;
  return guarded(status, [&] {
    Scheduler::watch_exit();
    const weir_host known = read_struct(host, "host");
    const weir_driver_table*& out = output(out_table, "out_table");
    for (const weir_driver_table& offered : tables)
      if (known.abi_min <= offered.abi_version && offered.abi_version <= known.abi_max) {
        out = &offered;
        return;
      }
    fail(WEIR_ERROR_ABI, "the CPU driver speaks driver ABI 1.0 to 1.4; the host speaks %u.%u to %u.%u",
         WEIR_ABI_MAJOR(known.abi_min), WEIR_ABI_MINOR(known.abi_min), WEIR_ABI_MAJOR(known.abi_max),
         WEIR_ABI_MINOR(known.abi_max));
  });
}
