// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/report_memory.hpp"

#include <fmt/format.h>

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

ReportMemory allocate_report_memory(DeviceState& device, const char* content, std::uint64_t bytes) {
  const weir_driver_table& table = device.table();
  weir_memory_options options{};
  options.struct_size = sizeof options;
  options.kind = device.has(Capability::pinned_memory) ? WEIR_MEMORY_PINNED : WEIR_MEMORY_DEVICE;
  options.size = bytes;
  ReportMemory memory{.content = content};
  const weir_device handle = device.handle();
  device.call([&] { return fmt::format("allocate a stream's {}", content); },
              [&](weir_status* status) {
                return table.memory_allocate(handle, &options, &memory.allocation, status);
              });
  weir_memory_info info{};
  info.struct_size = sizeof info;
  try {
    device.call("query the location of memory",
                [&](weir_status* status) { return table.memory_get_info(memory.allocation, &info, status); });
  } catch (...) {
    free_report_memory(device, memory);
    throw;
  }
  memory.address = info.device_address;
  memory.host = info.host_pointer;
  return memory;
}

void free_report_memory(DeviceState& device, const ReportMemory& memory) noexcept {
  device.call_no_throw(
      [&](weir_status* status) { return device.table().memory_free(memory.allocation, status); });
}

void clear_report_memory(StreamState& stream, const ReportMemory& memory, std::uint64_t bytes) {
  DeviceState& device = stream.device;
  const std::uint32_t zero = 0;
  device.call([&] { return fmt::format("clear a stream's {}", memory.content); },
              [&](weir_status* status) {
                return device.table().fill(stream.stream, memory.allocation, 0, bytes, &zero, sizeof zero,
                                           status);
              });
  stream.note_submission();
}

void wait_for_report(StreamState& stream, const ReportMemory& memory) {
  DeviceState& device = stream.device;
  device.streams.wait_before_throwing(stream, [&] {
    device.call([&] { return fmt::format("read a stream's {}", memory.content); },
                [&](weir_status* status) {  // which starts the work, too
                  return device.table().stream_synchronize(stream.stream, status);
                });
  });
}

}  // namespace weir::detail
