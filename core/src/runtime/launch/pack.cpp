// SPDX-License-Identifier: Apache-2.0
// From a launch's arguments to the argument block of a task.
#include <bit>
#include <cstring>

#include "runtime/launch/program_internal.hpp"

namespace weir::detail {

std::int64_t LaunchValues::extent(std::uint32_t parameter, std::uint32_t dimension) const noexcept {
  return arguments[parameter].array->extent(dimension);
}

std::uint64_t LaunchValues::scalar(std::uint32_t parameter, std::uint32_t lane) const noexcept {
  static_assert(std::endian::native == std::endian::little);
  const LaunchArgument& argument = arguments[parameter];
  const std::size_t size = size_of(argument.element.scalar);
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(argument.data) + lane * size, size);
  return bits;
}

void pack_task(const DeviceState& device, const ir::Task& task, const CompiledTask& compiled,
               const LaunchValues& values, std::byte* block) noexcept {
  using Kind = ir::TaskArgument::Kind;
  std::memset(block, 0, task.argument_bytes);
  for (const ir::TaskArgument& field : task.arguments) {
    std::byte* at = block + field.offset;
    switch (field.kind) {
      case Kind::array: {
        const AnyArrayView& view = *values.arguments[field.parameter].array;
        pack_array(device, *view.block(), view.offset(), at);
        break;
      }
      case Kind::temporaries:
        pack_array(device, *values.temporaries, values.temporaries_offset, at);
        break;
      case Kind::error:
        pack_address(device, values.record->allocation, values.record->address, 0, at);
        break;
      case Kind::extent: {
        const std::int64_t extent = values.extent(field.parameter, field.index);
        std::memcpy(at, &extent, sizeof extent);
        break;
      }
      case Kind::scalar: {
        const std::uint64_t bits = values.scalar(field.parameter, field.index);
        std::memcpy(at, &bits, field.size);
        break;
      }
      case Kind::launch_key:
        std::memcpy(at, &values.key, sizeof values.key);
        break;
      case Kind::site_base:
        std::memcpy(at, &compiled.site_base, sizeof compiled.site_base);
        break;
    }
  }
  std::byte* at = block + task.argument_bytes - compiled.sized.size() * sizeof(std::uint64_t);
  for (const std::uint16_t parameter : compiled.sized) {
    const std::uint64_t bytes = values.arguments[parameter].array->size_bytes();
    std::memcpy(at, &bytes, sizeof bytes);
    at += sizeof bytes;
  }
}

std::uint64_t launch_key(std::uint64_t seed, std::uint64_t launch_number) noexcept {
  // The finaliser of SplitMix64: a bijection that spreads every bit, so that near seeds and launches give far
  // keys.
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return mix(mix(seed + 0x9e3779b97f4a7c15u) + launch_number);
}

}  // namespace weir::detail
