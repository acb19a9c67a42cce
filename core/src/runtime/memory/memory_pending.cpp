// SPDX-License-Identifier: Apache-2.0
// Blocks and actions that wait for events. Entries stay in `pending_`, visible to other threads, while their
// events are polled.
#include <algorithm>
#include <utility>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/memory_pool.hpp"

namespace weir::detail {

void MemoryPool::poll_pending() {
  for (std::uint64_t id = 0;;) {
    EventState* mark = nullptr;
    {
      std::lock_guard lock(mutex_);
      const auto entry = pending_from(id);
      if (entry == pending_.end()) return;
      id = entry->id;
      mark = EventPool::share(entry->marks.back());
    }
    const bool reached = is_reached(*mark);
    Pending done;
    bool dropped = false;
    if (reached) {
      std::lock_guard lock(mutex_);
      const auto entry = pending_from(id);
      // Another thread may have taken the entry or dropped its last event since.
      dropped = entry != pending_.end() && entry->id == id && entry->marks.back() == mark;
      if (dropped) entry->marks.pop_back();
      if (dropped && entry->marks.empty()) {
        done = remove(entry);
        if (done.block && !done.leaving) push_ready(std::exchange(done.block, nullptr));
      }
    } else {
      ++id;
    }
    if (dropped) mark->device.events.release(mark);
    mark->device.events.release(mark);
    finish(done);
  }
}

// The mutex must be held, as for the next two functions.
std::vector<MemoryPool::Pending>::iterator MemoryPool::pending_from(std::uint64_t id) noexcept {
  return std::ranges::lower_bound(pending_, id, {}, &Pending::id);
}

MemoryPool::Pending MemoryPool::remove(std::vector<Pending>::iterator entry) noexcept {
  Pending taken = std::move(*entry);
  pending_.erase(entry);
  pending_count_.fetch_sub(1, std::memory_order_relaxed);
  if (taken.block)
    (taken.leaving ? leaving_bytes_ : cached_bytes_)
        .fetch_sub(class_bytes(taken.block->size_class), std::memory_order_relaxed);
  return taken;
}

// Completes an entry whose events are all reached. Does nothing for an empty entry.
void MemoryPool::finish(Pending& entry) noexcept {
  if (entry.action) return entry.action();
  if (!entry.block) return;
  if (!entry.leaving) return put_ready(entry.block);
  entry.block->next = nullptr;
  give_to_driver(entry.block);
}

// Makes the memory block ready, or frees it if `leaving`, when the events are reached. Takes ownership of the
// events. If the entry cannot be allocated, throws and leaves them with the caller.
void MemoryPool::add_pending(MemoryBlock* block, Marks& marks, bool leaving) {
  std::lock_guard lock(mutex_);
  Pending& entry = new_pending();
  entry.block = block;
  entry.marks.swap(marks);
  entry.leaving = leaving;
  block->freed_at = driver_allocations_.load(std::memory_order_relaxed);
  (leaving ? leaving_bytes_ : cached_bytes_)
      .fetch_add(class_bytes(block->size_class), std::memory_order_relaxed);
}

// The mutex must be held.
MemoryPool::Pending& MemoryPool::new_pending() {
  Pending& entry = pending_.emplace_back();
  entry.id = next_pending_++;
  pending_count_.fetch_add(1, std::memory_order_relaxed);
  return entry;
}

// As add_pending for one event, which the caller keeps. If the entry cannot be allocated, the host waits.
void MemoryPool::keep_until(MemoryBlock* block, EventState* mark, bool leaving) noexcept {
  EventPool::share(mark);
  try {
    Marks marks{mark};
    add_pending(block, marks, leaving);
  } catch (...) {
    device_.streams.flush_all();
    StreamManager::wait_for(*mark);
    device_.events.release(mark);
    Pending entry{0, block, nullptr, {}, leaving};
    finish(entry);
  }
}

void MemoryPool::wait_on_host(const Marks& marks) noexcept {
  device_.streams.flush_all();
  for (EventState* mark : marks) StreamManager::wait_for(*mark);
}

std::optional<CacheLists> MemoryPool::take_cache(StreamState& stream) noexcept {
  CacheLists lists{};
  EventState* progress = nullptr;
  bool any = false;
  {
    std::lock_guard lock(stream.cache.mutex);
    progress = std::exchange(stream.cache.progress, nullptr);
    any = stream.cache.bytes.exchange(0, std::memory_order_relaxed) != 0;
    if (any) lists.swap(stream.cache.lists);
  }
  if (progress) device_.events.release(progress);
  return any ? std::optional(lists) : std::nullopt;
}

void MemoryPool::adopt_cache(StreamState& stream, EventState* mark) noexcept {
  const std::optional<CacheLists> lists = take_cache(stream);
  if (!lists) return;
  stream.cache.granted.store(0, std::memory_order_relaxed);
  for (MemoryBlock* list : *lists)
    while (MemoryBlock* block = list) {
      list = block->next;
      if (mark)
        keep_until(block, mark, false);
      else
        put_ready(block);
    }
}

}  // namespace weir::detail
