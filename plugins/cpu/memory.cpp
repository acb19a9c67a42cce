// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <thread>

#include "functions.hpp"
#include "machine.hpp"
#include "stream/callbacks.hpp"
#include "stream/stream.hpp"

namespace weir::cpu {
namespace {

constexpr std::uint64_t huge_page = 2u << 20;
constexpr int poison = 0xdd;

std::atomic<std::uint64_t> allocated{0};

// The size of the deallocations that were submitted and not reached; `allocated` includes it.
std::atomic<std::uint64_t> pending{0};
constexpr std::chrono::microseconds pending_interval{100};

enum class Room { now, after_pending_frees, never };

/// When `size` more bytes fit into `total`. `held` receives the size of all allocations.
Room room_for(std::uint64_t size, std::uint64_t total, std::uint64_t& held) noexcept {
  // A deallocation is subtracted from `allocated` first. Read in the other order, one that ends in between
  // would count as memory that stays in use.
  const std::uint64_t freed_later = pending.load(std::memory_order_acquire);
  held = allocated.load(std::memory_order_relaxed);
  if (size > total) return Room::never;
  if (held <= total - size) return Room::now;
  return held - (total - size) <= freed_later ? Room::after_pending_frees : Room::never;
}

/// Counts `size` as allocated. Throws if there is not enough memory, because the system would overcommit. A
/// host may submit work ahead of its deallocations, so this waits for them if that makes room. A host
/// callback does not wait, because the deallocations may be in its own stream.
void reserve(std::uint64_t size) {
  const std::uint64_t total = Machine::get().memory;
  std::uint64_t held = 0;
  do {
    for (Room room; (room = room_for(size, total, held)) != Room::now;) {
      if (room == Room::never || Callbacks::get().runs_on_this_thread())
        fail(WEIR_ERROR_OUT_OF_MEMORY,
             "no room for %" PRIu64 " bytes: %" PRIu64 " of %" PRIu64
             " bytes of device memory are allocated already%s",
             size, held, total,
             room == Room::never
                 ? ""
                 : ", and a host callback, which must not call the driver, cannot wait for them");
      std::this_thread::sleep_for(pending_interval);
    }
  } while (!allocated.compare_exchange_weak(held, held + size, std::memory_order_relaxed));
}

Allocation& allocate(Device& device, const weir_memory_options* asked) {
  const weir_memory_options options = sdk::check_memory_options(asked, device.capabilities);
  reserve(options.size);
  std::uint64_t alignment = std::max<std::uint64_t>(options.alignment, device.limits.memory_alignment);
  const bool huge = options.size >= 2 * huge_page;
  if (huge) alignment = std::max(alignment, huge_page);
  const std::uint64_t padded = (options.size + alignment - 1) / alignment * alignment;
  void* address = nullptr;
  Allocation* allocation = nullptr;
  try {
    address = std::aligned_alloc(alignment, padded);
    if (!address)
      fail(WEIR_ERROR_OUT_OF_MEMORY, "the host has no %" PRIu64 " bytes of memory left", options.size);
    if (huge) madvise(address, options.size, MADV_HUGEPAGE);  // fewer address look-ups; an unchecked hint
    allocation = &Pool<Allocation>::of().take();
  } catch (...) {
    std::free(address);
    allocated.fetch_sub(options.size, std::memory_order_relaxed);
    throw;
  }
  allocation->device = &device;
  allocation->memory_kind = options.kind;
  allocation->size = options.size;
  allocation->address = address;
  allocation->external = false;
  allocation->kind.store(Kind::allocation, std::memory_order_release);
  return *allocation;
}

}  // namespace

std::uint64_t allocated_memory() noexcept {
  return allocated.load(std::memory_order_relaxed);
}

void release_allocation(Allocation& allocation) noexcept {
  if (allocation.external) return Pool<Allocation>::of().give(allocation);
#ifndef NDEBUG
  std::memset(allocation.address, poison, allocation.size);  // reveals use after free in debug builds
#else
  (void)poison;
#endif
  std::free(allocation.address);
  allocated.fetch_sub(allocation.size, std::memory_order_relaxed);
  Pool<Allocation>::of().give(allocation);
}

void release_pending(Allocation& allocation) noexcept {
  const std::uint64_t size = allocation.size;
  release_allocation(allocation);
  pending.fetch_sub(size, std::memory_order_release);
}

std::byte* range_of(const Allocation& allocation, std::uint64_t offset, std::uint64_t size,
                    const char* what) {
  sdk::check_range(allocation, offset, size, what);
  return static_cast<std::byte*>(allocation.address) + offset;
}

weir_result memory_allocate(weir_device device_handle, const weir_memory_options* options,
                            weir_allocation* out_allocation, weir_status* status) {
  return guarded(status, [&] {
    Device& device = live<Device>(device_handle, "device");
    weir_allocation& out = output(out_allocation, "out_allocation");
    out = handle_of<weir_allocation>(allocate(device, options));
  });
}

weir_result memory_free(weir_allocation handle, weir_status* status) {
  return guarded(status, [&] {
    Allocation& allocation = live<Allocation>(handle, "allocation");
    retire(allocation, "allocation");
    release_allocation(allocation);
  });
}

weir_result memory_allocate_async(weir_stream stream_handle, const weir_memory_options* options,
                                  weir_allocation* out_allocation, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    check_stream(stream);
    weir_allocation& out = output(out_allocation, "out_allocation");
    out = handle_of<weir_allocation>(allocate(*stream.device, options));  // precedes all later work
  });
}

weir_result memory_free_async(weir_stream stream_handle, weir_allocation handle, weir_status* status) {
  return guarded(status, [&] {
    Stream& stream = live<Stream>(stream_handle, "stream");
    Allocation& allocation = live<Allocation>(handle, "allocation");
    sdk::check_device(*stream.device, allocation, "allocation");
    check_stream(stream);
    retire(allocation, "allocation");
    if (allocation.external) return release_allocation(allocation);  // submitted work holds addresses only
    const std::uint64_t size = allocation.size;                      // once submitted, it may be gone
    pending.fetch_add(size, std::memory_order_relaxed);
    try {
      submit(stream, Weight::light, [&](Operation& operation) {
        operation.kind = Operation::Kind::release;
        operation.allocation = &allocation;
      });
    } catch (...) {
      pending.fetch_sub(size, std::memory_order_relaxed);
      allocation.kind.store(Kind::allocation, std::memory_order_release);
      throw;
    }
  });
}

weir_result memory_get_info(weir_allocation handle, weir_memory_info* out, weir_status* status) {
  return guarded(status, [&] {
    Allocation& allocation = live<Allocation>(handle, "allocation");
    weir_memory_info info{};
    info.kind = allocation.memory_kind;
    info.size = allocation.size;
    info.device_address = reinterpret_cast<std::uint64_t>(allocation.address);
    info.host_pointer = allocation.address;
    write_struct(out, info, "info");
  });
}

weir_result memory_wrap(weir_device handle, const weir_external_memory* asked, weir_allocation* out_allocation,
                        weir_status* status) {
  return guarded(status, [&] {
    Device& device = live<Device>(handle, "device");
    weir_allocation& out = output(out_allocation, "out_allocation");
    const weir_external_memory memory = sdk::check_external_memory(asked);
    Allocation& allocation = Pool<Allocation>::of().take();
    allocation.device = &device;
    allocation.memory_kind = memory.kind == WEIR_EXTERNAL_HOST ? WEIR_MEMORY_PINNED : WEIR_MEMORY_DEVICE;
    allocation.size = memory.size;
    allocation.address = reinterpret_cast<void*>(memory.address);
    allocation.external = true;
    allocation.kind.store(Kind::allocation, std::memory_order_release);
    out = handle_of<weir_allocation>(allocation);
  });
}

}  // namespace weir::cpu
