// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device.hpp"

namespace weir::cpu {

struct Allocation : sdk::AllocationObject<Device> {
  void* address = nullptr;
  bool external = false;  ///< the memory belongs to the caller
};

/// Frees the memory of an allocation whose handle is already invalid.
void release_allocation(Allocation& allocation) noexcept;

/// The same for a deallocation that a stream has reached.
void release_pending(Allocation& allocation) noexcept;

/// The total size of all live allocations in bytes.
std::uint64_t allocated_memory() noexcept;

/// The address of a range. Throws when the range is not inside the allocation.
std::byte* range_of(const Allocation& allocation, std::uint64_t offset, std::uint64_t size, const char* what);

}  // namespace weir::cpu
