// SPDX-License-Identifier: Apache-2.0
// Blocks that wait for their last uses, and the way back to the driver.
#include <algorithm>

#include "runtime/device_state.hpp"
#include "runtime/memory_pool.hpp"
#include "runtime/stream_errors.hpp"

namespace weir::detail {

void MemoryPool::collect_pending() {
  std::vector<Pending> entries;
  {
    std::lock_guard lock(mutex_);
    entries.swap(pending_);
  }
  std::vector<Pending> waiting;
  for (Pending& entry : entries) {
    const bool reached = std::ranges::all_of(entry.marks, [](EventState* mark) { return is_reached(*mark); });
    if (!reached) {
      waiting.push_back(std::move(entry));
      continue;
    }
    finish(entry);
  }
  std::lock_guard lock(mutex_);
  std::ranges::move(waiting, std::back_inserter(pending_));
}

void MemoryPool::finish(Pending& entry) noexcept {
  drop(entry.marks);
  pending_count_.fetch_sub(1, std::memory_order_relaxed);
  if (entry.action) return entry.action();
  {
    std::lock_guard lock(mutex_);
    pending_bytes_ -= class_bytes(entry.block->size_class);
  }
  put_ready(entry.block);
}

// Makes the block ready when its marks, which it takes over, are reached. Without host memory to remember
// them it is lost to reuse, and never handed out too early.
void MemoryPool::keep_until(Block* block, Marks marks) noexcept {
  try {
    std::lock_guard lock(mutex_);
    pending_.push_back({block, nullptr, {}});
    pending_.back().marks.swap(marks);
    pending_bytes_ += class_bytes(block->size_class);
    pending_count_.fetch_add(1, std::memory_order_relaxed);
  } catch (...) {
    drop(marks);
  }
}

void MemoryPool::wait_on_host(const Marks& marks) noexcept {
  device_.streams.flush_all();
  for (EventState* mark : marks) StreamManager::wait_for(*mark);
}

std::uint64_t MemoryPool::trim() {
  std::vector<Pending> entries;
  {
    std::lock_guard lock(mutex_);
    entries.swap(pending_);
  }
  for (Pending& entry : entries) {
    wait_on_host(entry.marks);
    finish(entry);
  }
  std::uint64_t bytes = 0;
  for (std::uint32_t slot = 0; slot < device_.streams.size(); ++slot) {
    StreamCache& cache = device_.streams.at(slot)->cache;
    decltype(cache.lists) lists{};
    {
      std::lock_guard lock(cache.mutex);
      if (!cache.bytes.exchange(0, std::memory_order_relaxed)) continue;
      lists.swap(cache.lists);
    }
    Marks marks;
    try {
      if (EventState* mark = device_.lost() ? nullptr : device_.streams.mark(slot)) marks.push_back(mark);
    } catch (...) {
      for (Block* list : lists)
        while (Block* block = list) {
          list = block->next;
          put(*device_.streams.at(slot), block);
        }
      throw;
    }
    wait_on_host(marks);
    drop(marks);
    for (Block* list : lists) bytes += give_to_driver(list);
  }
  decltype(ready_) lists{};
  {
    std::lock_guard lock(mutex_);
    lists.swap(ready_);
    ready_bytes_ = 0;
  }
  for (Block* list : lists) bytes += give_to_driver(list);
  last_trim_.store(bytes, std::memory_order_relaxed);
  return bytes;
}

std::uint64_t MemoryPool::give_to_driver(Block* list) noexcept {
  // A lost device reports its work as over although it may still use the memory, which therefore stays
  // allocated.
  if (device_.lost()) return 0;
  std::uint64_t bytes = 0;
  if (list) given_back_.fetch_add(1, std::memory_order_release);
  while (list) {
    Block* block = list;
    list = block->next;
    device_.quiet(
        [&](weir_status* status) { return device_.table().memory_free(block->allocation, status); });
    block->allocation = nullptr;
    bytes += class_bytes(block->size_class);
    std::lock_guard lock(mutex_);
    block->next = unused_blocks_;
    unused_blocks_ = block;
  }
  driver_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return bytes;
}

void MemoryPool::adopt_cache(StreamState& stream, EventState* mark) noexcept {
  decltype(stream.cache.lists) lists{};
  {
    std::lock_guard lock(stream.cache.mutex);
    if (!stream.cache.bytes.exchange(0, std::memory_order_relaxed)) return;
    lists.swap(stream.cache.lists);
  }
  for (Block* list : lists)
    while (list) {
      Block* block = list;
      list = block->next;
      if (!mark) {
        put_ready(block);
        continue;
      }
      try {
        Marks marks{mark};
        EventPool::share(mark);
        keep_until(block, std::move(marks));
      } catch (...) {  // no host memory: see keep_until
      }
    }
}

}  // namespace weir::detail
