// SPDX-License-Identifier: Apache-2.0
// Copies and fills. Small copies of pageable memory pass through the stream's scratch memory. To the device
// their bytes are read at once, which the contract allows because they must not change. To the host they are
// written before the batch counts as complete. Large ones are host steps (transfer.hpp). Pinned memory is
// copied by the device.
#include <cstring>

#include "driver.hpp"

namespace weir::vulkan {
namespace {

constexpr std::uint64_t small_copy = 32 << 10;

bool overlap(const Range& a, const Range& b) noexcept {
  return a.block == b.block && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

}  // namespace

void Stream::put_copy_to_device(const Range& to, const void* from) {
  if (const Range pinned = device->heap.find(from, to.size); pinned && !overlap(pinned, to)) {
    record_copy(device->vk, line->commands(), to, pinned);
    return line->end_operation();
  }
  if (to.size <= small_copy) {
    const Range scratch = line->scratch(to.size);
    std::memcpy(scratch.host(), from, to.size);
    record_copy(device->vk, line->commands(), to, part(scratch, 0, to.size));
    return line->end_operation();
  }
  line->append_host([device = device, &queue = line->queue, to, from] {
    device->transfers.to_device(queue, to, static_cast<const std::byte*>(from));
  });
}

void Stream::put_copy_to_host(void* to, const Range& from) {
  if (const Range pinned = device->heap.find(to, from.size); pinned && !overlap(pinned, from)) {
    record_copy(device->vk, line->commands(), pinned, from);
    return line->end_operation();
  }
  if (from.size <= small_copy) {
    const Range scratch = line->scratch(from.size);
    record_copy(device->vk, line->commands(), part(scratch, 0, from.size), from);
    line->open().after.push_back(
        [to, host = scratch.host(), size = from.size] { std::memcpy(to, host, size); });
    return line->end_operation();
  }
  line->append_host([device = device, &queue = line->queue, to, from] {
    device->transfers.to_host(queue, static_cast<std::byte*>(to), from);
  });
}

void Stream::copy_to_device(Allocation& to, std::uint64_t offset, const void* from, std::uint64_t size) {
  std::lock_guard lock(line->recording);
  device->check_present();
  put_copy_to_device(to.at(offset, size), from);
}

void Stream::copy_to_host(void* to, Allocation& from, std::uint64_t offset, std::uint64_t size) {
  std::lock_guard lock(line->recording);
  device->check_present();
  put_copy_to_host(to, from.at(offset, size));
}

void Stream::copy_on_device(Allocation& to, std::uint64_t to_offset, Allocation& from,
                            std::uint64_t from_offset, std::uint64_t size) {
  std::lock_guard lock(line->recording);
  record_copy(device->vk, line->commands(), to.at(to_offset, size), from.at(from_offset, size));
  line->end_operation();
}

void Stream::fill(Allocation& to, std::uint64_t offset, std::uint64_t size, const sdk::Pattern& pattern) {
  const sdk::Pattern shortest = pattern.shortest();
  const Range range = to.at(offset, size);
  std::lock_guard lock(line->recording);
  const std::uint64_t bytes = fill_scratch_bytes(range, shortest);
  const Range scratch = bytes ? line->scratch(bytes) : Range{};
  record_fill(device->vk, line->commands(), range, shortest, scratch);
  line->end_operation();
}

}  // namespace weir::vulkan
