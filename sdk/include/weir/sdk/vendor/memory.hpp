// SPDX-License-Identifier: Apache-2.0
// Memory of a vendor's runtime: from its allocator, from its stream-ordered pool, pinned on the host, or
// owned by the caller.
//
// Requires of the vendor's traits V, for external memory only:
//   static Code device_of(Address address, int* out) noexcept;
// the number of the device that owns the memory; fails for memory unknown to the vendor
#pragma once

#include <algorithm>
#include <cinttypes>

#include "../checks.hpp"
#include "device.hpp"

namespace weir::sdk::vendor {

/// Whether the vendor's fills of elements as wide as the pattern, at most 4 bytes, take the address. It must
/// be a multiple of their size, which external memory does not guarantee.
inline bool takes_wide_fills(Address begin, const Pattern& pattern) noexcept {
  return begin % std::min(pattern.size, 4u) == 0;
}

template <class V>
struct Allocation : AllocationObject<Device<V>> {
  enum class Origin : std::uint8_t { allocator, pool, host, external };

  using AllocationObject<Device<V>>::device;
  Address base = 0;     ///< the vendor's address
  Address address = 0;  ///< the address after alignment
  void* host = nullptr;
  Origin origin = Origin::allocator;

  void place(std::uint64_t& device_address, void*& host_pointer) const noexcept {
    device_address = address;
    host_pointer = host ? static_cast<std::byte*>(host) + (address - base) : nullptr;
  }

  void free() noexcept {
    Current<V> current(*device, std::nothrow);
    device->deferred.sweep(*device);
    give_back(*device, this);
  }

  /// Frees immediately. The device's context must be current and the handle invalid.
  static void give_back(Device<V>& device, void* allocation) noexcept {
    auto& self = *static_cast<Allocation*>(allocation);
    if (self.origin == Origin::host)
      V::calls().host_free(self.host);
    else if (self.origin == Origin::pool)
      device.pool.free(device, self.base);
    else if (self.origin != Origin::external)
      V::calls().memory_free(self.base);
    Pool<Allocation>::of().give(self);
  }
};

namespace detail {

/// Fills in the members common to all memory sources, and the size to request from the vendor.
template <class V>
std::size_t prepare(Fresh<Allocation<V>>& allocation, Device<V>& device, const weir_memory_options& options,
                    typename Allocation<V>::Origin origin) {
  allocation->device = &device;
  allocation->memory_kind = options.kind;
  allocation->size = options.size;
  allocation->origin = origin;
  allocation->host = nullptr;
  return options.size + (options.alignment > device.limits.memory_alignment ? options.alignment - 1 : 0);
}

template <class V>
Allocation<V>& finish(Fresh<Allocation<V>>& allocation, const weir_memory_options& options) {
  const std::uint64_t alignment = options.alignment ? options.alignment : 1;
  allocation->address = (allocation->base + alignment - 1) & ~(alignment - 1);
  return allocation.publish();
}

/// If memory is short, retries after releasing the pool's memory, and again after pending deallocations. What
/// the pool took for refused attempts is released. The message of the failure states the size.
template <class V, class Try>
void allocate_or_raise(Device<V>& device, std::size_t size, const char* what, Try&& attempt) {
  Code code = attempt();
  if (code == out_of_memory) {
    device.pool.trim();
    code = attempt();
  }
  while (code == out_of_memory && device.pool.wait(device)) code = attempt();
  if (code == out_of_memory) device.pool.trim();
  if (code != success) [[unlikely]] {
    std::size_t free = 0, total = 0;
    V::calls().memory_get_info(&free, &total);
    device.raise(
        code, format_text("allocate %zu bytes of %s, where %zu of %zu bytes of device memory are free", size,
                          what, free, total)
                  .c_str());
  }
}

/// The address at which the current device accesses pinned host memory.
template <class V>
Address device_address_of(std::uint64_t host) {
  Address address{};
  const Code code = V::calls().host_get_address(&address, reinterpret_cast<void*>(host), 0);
  if (code != success)
    fail(WEIR_ERROR_INVALID,
         "the host memory at 0x%" PRIx64 " is not pinned by %s (%s); pin it first, or copy it", host,
         V::names.runtime, V::error_name(code).c_str());
  return address;
}

/// Throws unless the device of that index owns the memory.
template <class V>
void check_owner(Address address, std::uint32_t index) {
  int owner = 0;
  if (const Code code = V::device_of(address, &owner); code != success)
    fail(WEIR_ERROR_INVALID,
         "the memory at 0x%" PRIx64 " does not belong to %s (%s); expected memory of device %u", address,
         V::names.runtime, V::error_name(code).c_str(), index);
  if (owner != static_cast<int>(index))
    fail(WEIR_ERROR_INVALID,
         "the memory at 0x%" PRIx64 " belongs to device %d; expected memory of device %u", address, owner,
         index);
}

}  // namespace detail

/// The functions below run with the device's context current.

template <class V>
Allocation<V>& allocate_pinned(Device<V>& device, const weir_memory_options& options) {
  Fresh<Allocation<V>> allocation;
  const std::size_t size = detail::prepare(allocation, device, options, Allocation<V>::Origin::host);
  detail::allocate_or_raise(device, size, "pinned host memory", [&] {
    return V::calls().host_allocate(&allocation->host, size, host_portable | host_mapped);
  });
  const Code code = V::calls().host_get_address(&allocation->base, allocation->host, 0);
  if (code != success) {
    V::calls().host_free(allocation->host);
    device.raise(code, "get the device address of pinned memory");
  }
  return detail::finish(allocation, options);
}

/// Device memory; `from(out_address, size)` calls the vendor.
template <class V, class From>
Allocation<V>& allocate_from(typename Allocation<V>::Origin origin, Device<V>& device,
                             const weir_memory_options& options, const From& from) {
  Fresh<Allocation<V>> allocation;
  const std::size_t size = detail::prepare(allocation, device, options, origin);
  detail::allocate_or_raise(device, size, "device memory", [&] { return from(&allocation->base, size); });
  return detail::finish(allocation, options);
}

template <class V>
Allocation<V>& allocate_ordered(Device<V>& device, void* stream, const weir_memory_options& options) {
  return allocate_from(Allocation<V>::Origin::pool, device, options, [&](Address* out, std::size_t size) {
    return device.pool.allocate(out, size, stream);
  });
}

/// Memory from outside the pool is freed by a later call that may block, once the stream has passed this
/// point.
template <class V>
void free_ordered(Device<V>& device, void* stream, Allocation<V>& allocation) {
  if (allocation.origin == Allocation<V>::Origin::external)
    return Allocation<V>::give_back(device, &allocation);
  if (allocation.origin != Allocation<V>::Origin::pool)
    return device.deferred.add(device, stream, true, &Allocation<V>::give_back, &allocation);
  device.pool.free(device, allocation.base, stream);
  Pool<Allocation<V>>::of().give(allocation);
}

template <class V>
Allocation<V>& Device<V>::allocate(const weir_memory_options& options) {
  Current<V> current(*this);
  deferred.sweep(*this);
  if (options.kind == WEIR_MEMORY_PINNED) return allocate_pinned(*this, options);
  using Origin = typename Allocation<V>::Origin;
  // All from the pool, because CUDA copies memory of its allocator to another device's stream in three steps.
  if (capabilities & WEIR_CAP_STREAM_ORDERED_ALLOCATION)
    return allocate_from(Origin::pool, *this, options,
                         [&](Address* out, std::size_t size) { return pool.allocate(out, size); });
  return allocate_from(Origin::allocator, *this, options,
                       [&](Address* out, std::size_t size) { return V::calls().memory_allocate(out, size); });
}

template <class V>
Allocation<V>& Device<V>::wrap_memory(const weir_external_memory& memory)
  requires FindsOwners<V>
{
  Current<V> current(*this);
  const bool on_host = memory.kind == WEIR_EXTERNAL_HOST;
  Address address = memory.address;
  if (on_host)
    address = detail::device_address_of<V>(memory.address);
  else
    detail::check_owner<V>(memory.address, index);
  Fresh<Allocation<V>> allocation;
  allocation->device = this;
  allocation->memory_kind = on_host ? WEIR_MEMORY_PINNED : WEIR_MEMORY_DEVICE;
  allocation->size = memory.size;
  allocation->origin = Allocation<V>::Origin::external;
  allocation->host = on_host ? reinterpret_cast<void*>(memory.address) : nullptr;
  allocation->base = allocation->address = address;
  return allocation.publish();
}

}  // namespace weir::sdk::vendor
