// SPDX-License-Identifier: Apache-2.0
#include "execute/launch_memory.hpp"

#include <cstring>

namespace weir::hipsim {
namespace {

/// The value of a hidden argument: LLVM's "User Guide for AMDGPU Backend", "Code Object V5 Metadata".
std::uint64_t hidden_value(const std::string& kind, const LaunchShape& shape, std::uint64_t queue) {
  const unsigned axis = kind.back() == 'y' ? 1 : kind.back() == 'z' ? 2 : 0;
  if (kind.starts_with("hidden_block_count_")) return shape.grid[axis];
  if (kind.starts_with("hidden_group_size_")) return shape.block[axis];
  if (kind == "hidden_grid_dims") {
    const auto more = [&](unsigned k) { return std::uint64_t(shape.grid[k]) * shape.block[k] > 1; };
    return more(2) ? 3 : more(1) ? 2 : 1;
  }
  if (kind == "hidden_private_base") return aperture::private_high;
  if (kind == "hidden_shared_base") return aperture::shared_high;
  if (kind == "hidden_dynamic_lds_size") return shape.dynamic_lds;
  if (kind == "hidden_queue_ptr") return queue;
  return 0;  // offsets, remainders, and features that HIP does not provide
}

template <class T>
void put(std::uint64_t at, T value) {
  std::memcpy(reinterpret_cast<void*>(at), &value, sizeof(value));
}

}  // namespace

LaunchMemory::LaunchMemory(const Launch& launch) {
  const Kernel& kernel = *launch.kernel;
  constexpr std::uint64_t alignment = 64, packet_size = 64, queue_size = 256;
  const std::uint64_t arguments = (std::uint64_t(kernel.argument_bytes) + alignment) & ~(alignment - 1);
  size_ = arguments + packet_size + queue_size;
  storage_.reset(new std::uint8_t[size_ + alignment]());
  begin_ = (reinterpret_cast<std::uintptr_t>(storage_.get()) + alignment - 1) & ~(alignment - 1);
  packet_ = begin_ + arguments;
  queue_ = packet_ + packet_size;
  const std::size_t given = std::min<std::size_t>(launch.arguments.size(), kernel.argument_bytes);
  if (given) std::memcpy(reinterpret_cast<void*>(begin_), launch.arguments.data(), given);
  for (const KernelArgument& a : kernel.arguments)
    if (a.hidden() && a.size <= 8) {
      const std::uint64_t value = hidden_value(a.kind, launch.shape, queue_);
      std::memcpy(reinterpret_cast<void*>(begin_ + a.offset), &value, a.size);
    }
  // The dispatch packet of the HSA runtime specification.
  const LaunchShape& s = launch.shape;
  put<std::uint16_t>(packet_ + 2, 3);
  for (unsigned k = 0; k < 3; ++k) {
    put<std::uint16_t>(packet_ + 4 + 2 * k, std::uint16_t(s.block[k]));
    put<std::uint32_t>(packet_ + 12 + 4 * k, s.grid[k] * s.block[k]);
  }
  put<std::uint32_t>(packet_ + 24, kernel.private_bytes);
  put<std::uint32_t>(packet_ + 28, kernel.lds_bytes + s.dynamic_lds);
  put<std::uint64_t>(packet_ + 32, kernel.descriptor);
  put<std::uint64_t>(packet_ + 40, begin_);
  // The apertures' places in the queue.
  put<std::uint32_t>(queue_ + 0x40, aperture::shared_high);
  put<std::uint32_t>(queue_ + 0x44, aperture::private_high);
}

}  // namespace weir::hipsim
