// SPDX-License-Identifier: Apache-2.0
// Return of memory to the driver: memory blocks over the limit, those needed by others, and trimming of all
// caches.
#include <algorithm>
#include <utility>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/memory_pool.hpp"

namespace weir::detail {
namespace {

constexpr std::uint64_t reserve_share = 16;  // this fraction of the device's memory is left free

// Moves memory blocks freed before `before` from `head` to `list`, until `bytes` are taken.
void unlink_older(MemoryBlock*& head, std::uint64_t before, std::uint64_t bytes, CacheLimit& limit,
                  std::uint64_t& taken, MemoryBlock*& list) {
  for (MemoryBlock** link = &head; *link && taken < bytes;) {
    MemoryBlock* const block = *link;
    if (block->freed_at >= before) {
      link = &block->next;
      continue;
    }
    *link = block->next;
    block->next = std::exchange(list, block);
    taken += class_bytes(block->size_class);
    limit.note_eviction(block->size_class);
  }
}

}  // namespace

// Called before the driver allocates a memory block of that class.
void MemoryPool::make_room(std::uint32_t size_class) noexcept {
  const std::uint64_t bytes = class_bytes(size_class);
  limit_.note_allocation(size_class, bytes_in_use() + bytes);
  keep_within_limit(nullptr);
  // Querying the free memory is expensive on some devices. It is repeated only after allocations of one
  // eighth of the bytes that were free.
  const std::uint64_t since = allocated_since_look_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (since <= spare_at_look_.load(std::memory_order_relaxed) / 8) return;
  std::uint64_t free = 0, total = 0;
  if (device_.call_no_throw([&](weir_status* status) {
        return device_.table().device_get_memory(device_.handle(), &free, &total, status);
      }) != WEIR_OK)
    return;
  const std::uint64_t spare = free - std::min(free, total / reserve_share);
  spare_at_look_.store(spare, std::memory_order_relaxed);
  allocated_since_look_.store(bytes, std::memory_order_relaxed);
  if (spare < bytes) evict(bytes - spare);
}

std::uint64_t MemoryPool::bytes_in_use() const noexcept {
  std::uint64_t cached =
      cached_bytes_.load(std::memory_order_relaxed) + leaving_bytes_.load(std::memory_order_relaxed);
  for (std::uint32_t slot = 0; slot < device_.streams.size(); ++slot)
    cached += device_.streams.at(slot)->cache.bytes.load(std::memory_order_relaxed);
  const std::uint64_t held = driver_bytes_.load(std::memory_order_relaxed);
  return held - std::min(held, cached);
}

// Each stream is granted the bytes that its cache has held, so that freeing within the grant does not read
// other streams. When the grants exceed the limit, each shrinks to the bytes cached at that time.
void MemoryPool::keep_within_limit(StreamState* owner) noexcept {
  const std::uint64_t limit = limit_.bytes();
  std::uint64_t granted = cached_bytes_.load(std::memory_order_relaxed);
  std::uint64_t cached = granted;
  const std::uint32_t count = device_.streams.size();
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    const StreamCache& cache = device_.streams.at(slot)->cache;
    const std::uint64_t bytes = cache.bytes.load(std::memory_order_relaxed);
    cached += bytes;
    granted += std::max(bytes, cache.granted.load(std::memory_order_relaxed));
  }
  if (granted <= limit) {
    if (owner)
      owner->cache.granted.store(owner->cache.bytes.load(std::memory_order_relaxed),
                                 std::memory_order_relaxed);
    return;
  }
  if (cached > limit) evict(cached - limit);
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    StreamCache& cache = device_.streams.at(slot)->cache;
    cache.granted.store(cache.bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

// Returns at least `bytes` of cached memory to the driver, or all, oldest first by time of freeing.
void MemoryPool::evict(std::uint64_t bytes) noexcept {
  const std::uint64_t now = driver_allocations_.load(std::memory_order_relaxed);
  for (const std::uint64_t age : {CacheLimit::window, CacheLimit::window / 8, 1u, 0u}) {
    if (age > now) continue;
    const std::uint64_t before = age ? now - age + 1 : ~std::uint64_t{0};
    bytes -= std::min(bytes, evict_older(before, bytes));
    if (bytes == 0) return;
  }
}

std::uint64_t MemoryPool::evict_older(std::uint64_t before, std::uint64_t bytes) noexcept {
  std::uint64_t taken = 0;
  MemoryBlock* list = nullptr;
  if (cached_bytes_.load(std::memory_order_relaxed)) {
    std::lock_guard lock(mutex_);
    for (std::uint32_t index = size_class_count; index-- > 0 && taken < bytes;)
      unlink_older(ready_[index], before, bytes, limit_, taken, list);
    cached_bytes_.fetch_sub(taken, std::memory_order_relaxed);
  }
  give_to_driver(list);
  for (std::uint32_t slot = 0; slot < device_.streams.size() && taken < bytes; ++slot) {
    StreamState& owner = *device_.streams.at(slot);
    if (!owner.cache.bytes.load(std::memory_order_relaxed)) continue;
    const std::uint64_t taken_before = taken;
    list = nullptr;
    {
      std::lock_guard lock(owner.cache.mutex);
      for (std::uint32_t index = size_class_count; index-- > 0 && taken < bytes;)
        unlink_older(owner.cache.lists[index], before, bytes, limit_, taken, list);
      owner.cache.bytes.fetch_sub(taken - taken_before, std::memory_order_relaxed);
    }
    if (list) evict_from(owner, list);
  }
  return taken;
}

// Frees memory blocks from the stream's cache: at once when the stream is idle, else in stream order if the
// driver can, else when an event is reached. If the driver refuses, they stay cached.
void MemoryPool::evict_from(StreamState& owner, MemoryBlock* list) noexcept {
  if (owner.known_idle() || is_idle(owner)) {
    give_to_driver(list);
    return;
  }
  if (device_.has(Capability::stream_ordered_allocation)) return free_in_order(owner, list);
  EventState* mark = nullptr;
  try {
    mark = device_.streams.mark(owner.slot);
  } catch (...) {
    return push_list(owner, list);
  }
  device_.streams.flush_all();  // else an event of batched work is never reached
  while (MemoryBlock* block = list) {
    list = block->next;
    if (mark)
      keep_until(block, mark, true);
    else
      put_ready(block);
  }
  if (mark) device_.events.release(mark);
}

void MemoryPool::free_in_order(StreamState& owner, MemoryBlock* list) noexcept {
  if (!device_.streams.pin(owner)) return push_list(owner, list);
  given_back_.fetch_add(1, std::memory_order_release);
  while (MemoryBlock* block = list) {
    if (device_.call_no_throw([&](weir_status* status) {
          return device_.table().memory_free_async(owner.stream, block->allocation, status);
        }) != WEIR_OK)
      break;
    owner.note_submission();
    list = block->next;
    driver_bytes_.fetch_sub(class_bytes(block->size_class), std::memory_order_relaxed);
    recycle(block);
  }
  device_.streams.unpin(owner);
  push_list(owner, list);
}

void MemoryPool::push_list(StreamState& owner, MemoryBlock* list) noexcept {
  while (MemoryBlock* block = list) {
    list = block->next;
    push(owner, block);
  }
}

// True if the stream's work is over; calls the driver.
bool MemoryPool::is_idle(StreamState& owner) noexcept {
  if (!device_.streams.pin(owner)) return false;
  const std::uint64_t submitted = owner.submitted.load(std::memory_order_acquire);
  const bool idle = device_.call_no_throw([&](weir_status* status) {
    return device_.table().stream_query(owner.stream, status);
  }) == WEIR_OK;
  if (idle) owner.note_completion(submitted);
  device_.streams.unpin(owner);
  return idle;
}

std::uint64_t MemoryPool::trim() {
  trimming_.fetch_add(1, std::memory_order_acq_rel);
  const auto end = [&] {
    trimming_.fetch_sub(1, std::memory_order_acq_rel);
    trimming_.notify_all();
  };
  try {
    const std::uint64_t bytes = trim_caches();
    end();
    return bytes;
  } catch (...) {
    end();
    throw;
  }
}

// An entry or a list leaves the pool only while it is waited for and freed.
std::uint64_t MemoryPool::trim_caches() {
  std::uint64_t bytes = 0;
  for (std::size_t left = pending_count_.load(std::memory_order_relaxed); left > 0; --left) {
    Pending entry;
    {
      std::lock_guard lock(mutex_);
      if (pending_.empty()) break;
      entry = remove(pending_.begin());
    }
    wait_on_host(entry.marks);
    drop(entry.marks);
    if (entry.leaving) bytes += class_bytes(entry.block->size_class);
    finish(entry);
  }
  for (std::uint32_t slot = 0; slot < device_.streams.size(); ++slot) {
    StreamState& stream = *device_.streams.at(slot);
    const std::optional<CacheLists> lists = take_cache(stream);
    if (!lists) continue;
    EventState* mark = nullptr;
    try {
      if (!device_.lost()) mark = device_.streams.mark(slot);
    } catch (...) {
      for (MemoryBlock* list : *lists) push_list(stream, list);
      throw;
    }
    if (mark) {
      device_.streams.flush_all();
      StreamManager::wait_for(*mark);
      device_.events.release(mark);
    }
    for (MemoryBlock* list : *lists) bytes += give_to_driver(list);
  }
  CacheLists lists{};
  {
    std::lock_guard lock(mutex_);
    lists.swap(ready_);
    for (std::uint32_t index = 0; index < size_class_count; ++index)
      for (MemoryBlock* block = lists[index]; block; block = block->next)
        cached_bytes_.fetch_sub(class_bytes(index), std::memory_order_relaxed);
  }
  for (MemoryBlock* list : lists) bytes += give_to_driver(list);
  return bytes;
}

std::uint64_t MemoryPool::give_to_driver(MemoryBlock* list) noexcept {
  if (device_.keeps_resources()) return 0;
  std::uint64_t bytes = 0;
  if (list) given_back_.fetch_add(1, std::memory_order_release);
  while (list) {
    MemoryBlock* block = list;
    list = block->next;
    device_.call_no_throw(
        [&](weir_status* status) { return device_.table().memory_free(block->allocation, status); });
    bytes += class_bytes(block->size_class);
    recycle(block);
  }
  driver_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return bytes;
}

void MemoryPool::recycle(MemoryBlock* block) noexcept {
  block->allocation = nullptr;
  std::lock_guard lock(mutex_);
  block->next = std::exchange(unused_blocks_, block);
}

}  // namespace weir::detail
