// SPDX-License-Identifier: Apache-2.0
// Sources of a memory block, in this order: the stream's own cache, memory blocks ready for all streams,
// caches of other streams as far as their work is over, the driver. When the driver is out of memory: memory
// blocks of busy streams, for which this stream waits, and then the driver again after all caches are
// returned. Busy streams come late, so that two streams that allocate at the same time do not wait for each
// other.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/devices/device_state.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {

MemoryBlock* MemoryPool::take_from(StreamState& owner, std::uint32_t first, std::uint32_t last,
                                   bool count) noexcept {
  std::lock_guard lock(owner.cache.mutex);
  owner.cache.allocations += count;
  for (std::uint32_t index = first; index <= last; ++index)
    if (MemoryBlock* block = owner.cache.lists[index]) {
      owner.cache.lists[index] = block->next;
      owner.cache.bytes.fetch_sub(class_bytes(index), std::memory_order_relaxed);
      return block;
    }
  return nullptr;
}

MemoryBlock* MemoryPool::take_ready(std::uint32_t index) noexcept {
  const std::uint32_t last = largest_fit(index);
  std::lock_guard lock(mutex_);
  for (; index <= last; ++index)
    if (MemoryBlock* block = ready_[index]) {
      ready_[index] = block->next;
      cached_bytes_.fetch_sub(class_bytes(index), std::memory_order_relaxed);
      return block;
    }
  return nullptr;
}

// Notes how far a busy stream has come, by one event at a time.
void MemoryPool::ask_for_progress(StreamState& owner) {
  const auto exchange_progress = [&](EventState* event, std::uint64_t at) {
    std::lock_guard lock(owner.cache.mutex);
    return std::pair(std::exchange(owner.cache.progress, event), std::exchange(owner.cache.progress_at, at));
  };
  auto [progress, at] = exchange_progress(nullptr, 0);
  if (progress) {
    const weir_result result = device_.call_no_throw(
        [&](weir_status* status) { return device_.table().event_query(progress->event, status); });
    if (result == WEIR_OK) owner.note_completion(at);
    if (result != WEIR_NOT_READY) device_.events.release(std::exchange(progress, nullptr));
  }
  if (!progress) {
    at = owner.submitted.load(std::memory_order_acquire);
    try {
      progress = device_.streams.mark(owner.slot);
    } catch (const Error&) {  // the request can be served without
    }
  }
  if (progress) progress = exchange_progress(progress, at).first;
  if (progress) device_.events.release(progress);  // of another thread
}

// A busy stream's memory blocks whose own work is over become ready for all streams, else a program that
// allocates on one stream and works on another would never reuse memory while it runs ahead of the device.
// How far the stream has come is known from waits of the host, and from ask_for_progress(). A cache is looked
// through only when that has changed, since it may hold as many memory blocks as there is work in flight.
// Returns whether there were any.
bool MemoryPool::release_finished(StreamState& owner, std::uint32_t first, std::uint32_t last) {
  if (owner.foreign) return false;  // work of other libraries is not counted
  ask_for_progress(owner);
  const std::uint64_t completed = owner.completed.load(std::memory_order_acquire);
  MemoryBlock* finished = nullptr;
  {
    std::lock_guard lock(owner.cache.mutex);
    for (std::uint32_t index = first; index <= last; ++index) {
      if (std::exchange(owner.cache.looked_at[index], completed) == completed) continue;
      for (MemoryBlock** link = &owner.cache.lists[index]; MemoryBlock* const block = *link;) {
        if (block->available_at > completed) {
          link = &block->next;
          continue;
        }
        *link = block->next;
        block->next = std::exchange(finished, block);
        owner.cache.bytes.fetch_sub(class_bytes(index), std::memory_order_relaxed);
      }
    }
  }
  if (!finished) return false;
  std::lock_guard lock(mutex_);
  while (MemoryBlock* const block = finished) {
    finished = block->next;
    push_ready(block);
  }
  return true;
}

MemoryBlock* MemoryPool::take_idle(StreamState& stream, std::uint32_t index) {
  int queries = 4;  // keeps a miss cheaper than an allocation
  for (std::uint32_t slot = 0; slot < device_.streams.size(); ++slot) {
    StreamState& owner = *device_.streams.at(slot);
    if (&owner == &stream || !owner.cache.bytes.load(std::memory_order_relaxed)) continue;
    MemoryBlock* block = take_from(owner, index, largest_fit(index));
    if (!block) continue;
    // The memory block's uses were counted before it was freed, so idleness observed here covers them.
    bool idle = owner.known_idle();
    const bool asks = !idle && queries > 0;
    if (asks) {
      --queries;
      idle = is_idle(owner);
    }
    if (idle) {
      cross_stream_.fetch_add(1, std::memory_order_relaxed);
      return block;
    }
    push(owner, block);
    if (!asks || !release_finished(owner, index, largest_fit(index))) continue;
    if (MemoryBlock* const ready = take_ready(index)) {
      cross_stream_.fetch_add(1, std::memory_order_relaxed);
      return ready;
    }
  }
  return nullptr;
}

MemoryBlock* MemoryPool::take_after_events(StreamState& stream, std::uint32_t index) {
  const std::uint32_t last = std::min(index + 8, size_class_count - 1);  // up to twice the size is allowed
  MemoryBlock* block = nullptr;
  Marks marks;
  {
    std::lock_guard lock(mutex_);
    for (auto entry = pending_.begin(); entry != pending_.end(); ++entry) {
      if (!entry->block || entry->block->size_class < index || entry->block->size_class > last) continue;
      Pending taken = remove(entry);
      block = taken.block;
      marks.swap(taken.marks);
      break;
    }
  }
  for (std::uint32_t slot = 0; !block && slot < device_.streams.size(); ++slot) {
    StreamState& owner = *device_.streams.at(slot);
    if (&owner == &stream || !owner.cache.bytes.load(std::memory_order_relaxed)) continue;
    block = take_from(owner, index, last);
    if (!block) continue;
    try {
      marks.reserve(1);
      if (EventState* mark = device_.streams.mark(slot)) marks.push_back(mark);
    } catch (...) {
      push(owner, block);
      throw;
    }
  }
  if (!block) return nullptr;
  // The stream waits, not the host. If that fails, the memory block continues to wait for its events.
  try {
    const StreamPin pinned(stream);
    for (EventState* mark : marks) {
      device_.call("wait for memory that another stream used", [&](weir_status* status) {
        return device_.table().stream_wait_event(stream.stream, mark->event, status);
      });
      stream.note_submission();
    }
  } catch (...) {
    try {
      add_pending(block, marks, false);
    } catch (...) {
      wait_on_host(marks);
      drop(marks);
      put_ready(block);
    }
    throw;
  }
  drop(marks);
  block->available_at = stream.submitted.load(std::memory_order_acquire);
  cross_stream_.fetch_add(1, std::memory_order_relaxed);
  return block;
}

weir_result MemoryPool::request_from_driver(StreamState& stream, std::uint64_t bytes, weir_allocation* out,
                                            Status& status) {
  weir_memory_options options{};
  options.struct_size = sizeof options;
  options.kind = WEIR_MEMORY_DEVICE;
  options.size = bytes;
  const weir_driver_table& table = device_.table();
  if (device_.has(Capability::stream_ordered_allocation)) {
    const StreamPin pinned(stream);
    return device_.attempt(
        status, [&](weir_status* s) { return table.memory_allocate_async(stream.stream, &options, out, s); });
  }
  const weir_device device = device_.handle();
  return device_.attempt(status,
                         [&](weir_status* s) { return table.memory_allocate(device, &options, out, s); });
}

MemoryBlock* MemoryPool::allocate_from_driver(StreamState& stream, std::uint32_t index) {
  const std::uint64_t bytes = class_bytes(index);
  weir_allocation allocation = nullptr;
  Status status;
  make_room(index);
  weir_result result = request_from_driver(stream, bytes, &allocation, status);
  std::uint64_t released = 0;
  // Memory that another thread is returning is in no cache; wait until the return ends.
  for (int tries = 0; result == WEIR_ERROR_OUT_OF_MEMORY && tries < 3; ++tries) {
    if (MemoryBlock* block = take_after_events(stream, index)) return hand_out(block, stream, false);
    const std::uint32_t others = trimming_.load(std::memory_order_acquire);
    const std::uint64_t bytes_back = trim();
    released += bytes_back;
    if (others) trimming_.wait(others, std::memory_order_acquire);
    result = request_from_driver(stream, bytes, &allocation, status);
    if (!others && !bytes_back) break;
  }
  if (result == WEIR_ERROR_OUT_OF_MEMORY) throw_out_of_memory(bytes, released, status);
  if (result != WEIR_OK) device_.fail(fmt::format("allocate {} bytes", bytes), result, status, nullptr);
  const bool ordered = device_.has(Capability::stream_ordered_allocation);
  if (ordered) stream.note_submission();

  weir_memory_info info{};
  info.struct_size = sizeof info;
  MemoryBlock* block = nullptr;
  try {
    device_.call("query the location of memory",
                 [&](weir_status* s) { return device_.table().memory_get_info(allocation, &info, s); });
    block = new_block();
  } catch (...) {
    device_.call_no_throw([&](weir_status* s) { return device_.table().memory_free(allocation, s); });
    throw;
  }
  block->allocation = allocation;
  block->address = device_.has(Capability::device_address) ? info.device_address : 0;
  block->size_class = index;
  driver_allocations_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t held = driver_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::uint64_t peak = peak_bytes_.load(std::memory_order_relaxed);
  while (peak < held && !peak_bytes_.compare_exchange_weak(peak, held, std::memory_order_relaxed)) {
  }
  block->available_at = stream.submitted.load(std::memory_order_acquire);
  if (ordered) block->available = mark_allocation(stream);
  return hand_out(block, stream, !ordered);
}

// Records an event after the allocation in its stream, so that other streams do not wait for later work.
// Without the event, streams over-synchronise but remain correct.
EventState* MemoryPool::mark_allocation(StreamState& stream) noexcept {
  try {
    return device_.streams.mark(stream.slot);
  } catch (...) {
    return nullptr;
  }
}

MemoryBlock* MemoryPool::new_block() {
  std::lock_guard lock(mutex_);
  if (MemoryBlock* block = unused_blocks_) {
    unused_blocks_ = block->next;
    return block;
  }
  return &blocks_.emplace_back(device_);
}

void MemoryPool::throw_out_of_memory(std::uint64_t bytes, std::uint64_t released, const Status& status) {
  const MemoryStatistics now = statistics();
  std::uint64_t free = 0, total = 0;
  device_.call_no_throw(
      [&](weir_status* s) { return device_.table().device_get_memory(device_.handle(), &free, &total, s); });
  throw Error(
      ErrorCode::out_of_memory,
      fmt::format("cannot allocate {} bytes on {}: {} of {} bytes free, arrays use {}, {} cached bytes were "
                  "released{}{}; free arrays or use smaller ones",
                  bytes, device_.device_name(), free, total, now.bytes_in_use, released,
                  status.message[0] ? ": " : "", status.message),
      status.vendor_code, status.vendor_name);
}

}  // namespace weir::detail
