// SPDX-License-Identifier: Apache-2.0
// Packs a launch's arguments into the argument block of a task.
#include <bit>
#include <cstring>

#include "runtime/errors/stream_errors.hpp"
#include "runtime/launch/grid_barriers.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/prints/print_buffer.hpp"

namespace weir::detail {

std::int64_t LaunchValues::extent(std::uint32_t parameter, std::uint32_t dimension) const noexcept {
  return arguments[parameter].array->extent(dimension);
}

std::uint64_t LaunchValues::scalar(std::uint32_t parameter, std::uint32_t component) const noexcept {
  static_assert(std::endian::native == std::endian::little);
  const LaunchArgument& argument = arguments[parameter];
  const std::size_t size = size_of(argument.element.scalar);
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(argument.data) + component * size, size);
  return bits;
}

namespace {

/// Copies 1, 2, 4 or 8 bytes. A constant length compiles to one instruction, others to a call.
void copy_field(std::byte* to, const void* from, std::uint32_t size) noexcept {
  switch (size) {
    case 8:
      std::memcpy(to, from, 8);
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 2:
      std::memcpy(to, from, 2);
      break;
    default:
      *to = *static_cast<const std::byte*>(from);
  }
}

}  // namespace

void pack_task(const DeviceState& device, const passes::Plan& plan, const passes::PlannedTask& planned,
               const CompiledTask& compiled, const LaunchValues& values, std::byte* block) noexcept {
  using Kind = ir::TaskArgument::Kind;
  const ir::Task& task = planned.task;
  std::uint32_t end = 0;
  for (const ir::TaskArgument& field : task.arguments) {
    std::byte* at = block + field.offset;
    end = field.offset + field.size;
    switch (field.kind) {
      case Kind::array: {
        const AnyArrayView& view = *values.arguments[field.parameter].array;
        pack_array(device, *view.block(), view.offset(), at);
        break;
      }
      case Kind::scratch:
        pack_array(device, *values.scratch, values.scratch_offset, at);
        break;
      case Kind::error:
        pack_address(device, values.record->memory.allocation, values.record->memory.address,
                     values.record->offset, at);
        break;
      case Kind::extent: {
        const std::int64_t extent = values.extent(field.parameter, field.index);
        std::memcpy(at, &extent, sizeof extent);
        break;
      }
      case Kind::scalar: {
        const auto* components = static_cast<const std::byte*>(values.arguments[field.parameter].data);
        copy_field(at, components + field.index * field.size, field.size);
        break;
      }
      case Kind::launch_key:
        std::memcpy(at, &values.key, sizeof values.key);
        break;
      case Kind::repetition:
        std::memcpy(at, &values.repetitions[field.index], sizeof values.repetitions[field.index]);
        break;
      case Kind::site_base:
        std::memcpy(at, &compiled.site_base, sizeof compiled.site_base);
        break;
      case Kind::print:
        pack_address(device, values.prints->memory.allocation, values.prints->memory.address, 0, at);
        break;
      case Kind::barrier:
        pack_address(device, values.barriers->allocation, values.barriers->address,
                     std::uint64_t{values.first_barrier + field.index} * ir::grid_barrier_bytes, at);
        break;
      case Kind::launch:
        std::memcpy(at, &values.launch_number, sizeof values.launch_number);
        break;
    }
  }
  // Fields have no gaps between them. The bytes after them are zeroed, because a graph compares whole blocks.
  std::memset(block + end, 0, task.argument_bytes - end);
  if (!compiled.stated.empty())
    state_arrays(plan, planned, compiled.stated, values,
                 block + task.argument_bytes - stated_bytes(compiled.stated));
}

std::uint64_t launch_key(std::uint64_t seed, std::uint64_t launch_number) noexcept {
  // The finaliser of SplitMix64: a bijection that spreads every bit, so that similar seeds and launches give
  // unrelated keys.
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return mix(mix(seed + 0x9e3779b97f4a7c15u) + launch_number);
}

std::uint64_t next_launch_number(const ProgramState& program, const LaunchOptions& options) noexcept {
  const bool automatic = options.launch_number == LaunchOptions::automatic;
  return automatic ? program.launches->fetch_add(1, std::memory_order_relaxed) : options.launch_number;
}

std::uint64_t next_launch_key(const ProgramState& program, const LaunchOptions& options) noexcept {
  return launch_key(options.seed, next_launch_number(program, options));
}

}  // namespace weir::detail
