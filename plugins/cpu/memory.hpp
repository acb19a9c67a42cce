// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device.hpp"

namespace weir::cpu {

struct Allocation : Object {
  static constexpr Kind object_kind = Kind::allocation;

  Device* device = nullptr;
  std::uint32_t memory_kind = WEIR_MEMORY_DEVICE;
  std::uint64_t size = 0;
  void* address = nullptr;
};

/// Frees the memory of an allocation whose handle is already invalid.
void release_allocation(Allocation& allocation) noexcept;

/// The same for a deallocation that a stream has reached.
void release_pending(Allocation& allocation) noexcept;

/// The total size of all live allocations in bytes.
std::uint64_t allocated_memory() noexcept;

/// The address of a range. Throws when the range is not inside the allocation.
void* range_of(const Allocation& allocation, std::uint64_t offset, std::uint64_t size, const char* what);

}  // namespace weir::cpu
