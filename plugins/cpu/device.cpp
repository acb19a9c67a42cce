// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "cpu_target.hpp"
#include "functions.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "stream/futex.hpp"

namespace weir::cpu {
namespace {

Device& device_at(std::uint32_t index) {
  const Machine& machine = Machine::checked();
  if (index >= machine.devices)
    fail(WEIR_ERROR_INVALID, "device index is %u; the CPU driver has %u (WEIR_CPU_DEVICES)", index,
         machine.devices);
  static auto* const devices = new std::array<Device, 16>;
  return (*devices)[index];
}

constexpr std::uint32_t max_block_threads = 1024;

template <std::size_t Size>
void put(char (&out)[Size], const std::string& text) {
  std::snprintf(out, Size, "%s", text.c_str());
}

}  // namespace

Device::Device() noexcept {
  capabilities = WEIR_CAP_STREAM_ORDERED_ALLOCATION | WEIR_CAP_TIMED_EVENTS | WEIR_CAP_HOST_CALLBACK |
                 WEIR_CAP_PINNED_MEMORY | WEIR_CAP_PEER_COPY | WEIR_CAP_DEVICE_ADDRESS |
                 WEIR_CAP_CONCURRENT_STREAMS | WEIR_CAP_GRAPHS | WEIR_CAP_EXTERNAL_MEMORY;
  limits.max_block_threads = max_block_threads;
  std::ranges::fill(limits.max_block, max_block_threads);
  // The product stays below 2^63, so that block numbers never wrap around.
  limits.max_grid[0] = 0x7fffffff;
  limits.max_grid[1] = limits.max_grid[2] = 65535;
  limits.max_shared_bytes = 256 * 1024;
  limits.max_argument_bytes = 4096;
  limits.memory_alignment = 64;
  limits.lanes = 1;
}

weir_result device_count(uint32_t* out_count, weir_status* status) {
  return guarded(status, [&] {
    std::uint32_t& out = output(out_count, "out_count");
    out = Machine::checked().devices;
  });
}

weir_result device_open(uint32_t index, weir_device* out_device, weir_status* status) {
  return guarded(status, [&] {
    weir_device& out = output(out_device, "out_device");
    Device& device = device_at(index);
    std::lock_guard lock(device.opening);
    device.index = index;
    ++device.openings;
    device.kind.store(Kind::device, std::memory_order_release);
    out = handle_of<weir_device>(device);
  });
}

weir_result device_close(weir_device handle, weir_status* status) {
  return guarded(status, [&] {
    Device& device = live<Device>(handle, "device");
    {
      std::lock_guard lock(device.opening);
      if (device.openings == 0) fail(WEIR_ERROR_INVALID, "device was closed as often as it was opened");
      if (--device.openings != 0) return;
      device.kind.store(Kind::dead, std::memory_order_release);
    }
    while (const std::uint32_t left = device.unfinished.load(std::memory_order_acquire))
      futex_wait(device.unfinished, left, -1);
  });
}

weir_result device_get_info(uint32_t index, weir_device_info* out, weir_status* status) {
  return guarded(status, [&] {
    const Device& device = device_at(index);
    const Machine& machine = Machine::get();
    weir_device_info info{};
    info.kind = WEIR_DEVICE_CPU;
    put(info.name, machine.devices == 1 ? machine.name : machine.name + " #" + std::to_string(index));
    put(info.vendor, machine.vendor);
    put(info.driver_version, WEIR_VERSION);
    info.capabilities = device.capabilities;
    info.total_memory = machine.memory;
    info.argument_style = device.argument_style;
    auto add_target = [&](const std::string& target) {
      weir_code_target& entry = info.code_targets[info.code_target_count++];
      put(entry.format, "elf-x86_64");
      put(entry.target, target);
    };
    add_target(machine.target);
    if (machine.target == host_target()) {
      if (host_level() != host_target()) add_target(host_level());
      put(info.target_features, host_features());
    }
    if (machine.target != "x86-64" && host_level() != "x86-64") add_target("x86-64");
    info.multiprocessors = machine.cores;
    info.lanes = device.limits.lanes;
    info.max_block_threads = device.limits.max_block_threads;
    std::ranges::copy(device.limits.max_block, info.max_block);
    std::ranges::copy(device.limits.max_grid, info.max_grid);
    info.max_shared_bytes = device.limits.max_shared_bytes;
    info.max_argument_bytes = device.limits.max_argument_bytes;
    info.memory_alignment = device.limits.memory_alignment;
    info.recommended_streams = machine.threads;
    info.dlpack_type = 1;  // kDLCPU, whose only device is 0
    std::string notes;
    if (machine.devices > 1) notes += "WEIR_CPU_DEVICES: all devices share the same cores and memory\n";
    if (machine.threads != machine.cores)
      notes += "WEIR_CPU_THREADS: " + std::to_string(machine.threads) + " threads on " +
               std::to_string(machine.cores) + " cores\n";
    if (machine.target != host_target())
      notes += "WEIR_CPU_TARGET: kernels are compiled for " + machine.target + " instead of " +
               host_target() + "\n";
    if (!notes.empty()) notes.pop_back();
    put(info.notes, notes);
    write_struct(out, info, "info");
  });
}

weir_result device_get_memory(weir_device handle, uint64_t* out_free, uint64_t* out_total,
                              weir_status* status) {
  return guarded(status, [&] {
    live<Device>(handle, "device");
    std::uint64_t& free = output(out_free, "out_free");
    std::uint64_t& total = output(out_total, "out_total");
    total = Machine::get().memory;
    free = std::min(available_memory(), total - std::min(total, allocated_memory()));
  });
}

}  // namespace weir::cpu
