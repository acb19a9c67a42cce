// SPDX-License-Identifier: Apache-2.0
// Allocation and release of memory blocks. See memory_reuse.cpp for requests that the stream's own cache
// cannot serve, and memory_evict.cpp for the return of memory blocks to the driver.
#include "runtime/memory/memory_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "driver/environment.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {

MemoryPool::MemoryPool(DeviceState& device)
    : device_(device),
      limit_(device.info.total_memory,
             parse_bytes("WEIR_POOL_BYTES", secure_environment("WEIR_POOL_BYTES"))) {}

MemoryBlock* MemoryPool::allocate(StreamState& stream, std::uint64_t bytes) {
  if (bytes > max_block_bytes)
    throw Error(
        ErrorCode::out_of_memory,
        fmt::format(
            "cannot allocate {} bytes on {}: a single array holds at most {} bytes; use several arrays",
            bytes, device_.device_name(), max_block_bytes));
  const std::uint32_t index = size_class(bytes);
  if (MemoryBlock* block = take_from(stream, index, largest_fit(index), true))
    return hand_out(block, stream, false);
  collect_pending();
  if (MemoryBlock* block = take_ready(index)) return hand_out(block, stream, true);
  if (MemoryBlock* block = take_idle(stream, index)) return hand_out(block, stream, true);
  return allocate_from_driver(stream, index);
}

MemoryBlock* MemoryPool::hand_out(MemoryBlock* block, StreamState& home, bool ready) noexcept {
  block->home = &home;
  block->ready = ready;
  block->next = nullptr;
  if (block->used.load(std::memory_order_relaxed) & more_bit)
    if (ManyStreams* more = block->more_users.load(std::memory_order_relaxed)) more->clear();
  block->used.store(0, std::memory_order_relaxed);
  block->owners.store(0, std::memory_order_relaxed);
  block->generation.fetch_add(1, std::memory_order_release);
  return block;
}

// The set is created before the stream is ordered, so that a failure leaves the use neither recorded nor
// needed.
void MemoryPool::first_use(MemoryBlock& block, StreamState& stream) {
  ManyStreams* const more = stream.slot < exact_slots ? nullptr : &more_users_of(block);
  order_after_earlier_life(block, stream);
  if (more) more->add(stream.slot);
  const std::uint64_t bit = more ? more_bit : std::uint64_t{1} << stream.slot;
  block.used.fetch_or(bit, std::memory_order_release);
}

ManyStreams& MemoryPool::more_users_of(MemoryBlock& block) {
  if (ManyStreams* more = block.more_users.load(std::memory_order_acquire)) return *more;
  auto fresh = std::make_unique<ManyStreams>();
  ManyStreams* expected = nullptr;
  if (block.more_users.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel))
    return *fresh.release();
  return *expected;
}

void MemoryPool::order_others_after(MemoryBlock& block, StreamState& stream) noexcept {
  if (block.available) device_.events.release(std::exchange(block.available, nullptr));
  block.home = &stream;
  block.ready = false;
  block.available_at = stream.submitted.load(std::memory_order_acquire);
}

void MemoryPool::use_by_peer(MemoryBlock& block, StreamState& stream) {
  if (&stream.device == &device_) return use(block, stream);
  order_after_earlier_life(block,
                           stream);  // no bits here for the other device's streams, so each copy waits
}

void MemoryPool::order_free_after(MemoryBlock& block, StreamState& stream) {
  DeviceState& peer = stream.device;
  EventState* mark = nullptr;
  try {
    {
      std::lock_guard lock(mutex_);
      for (auto& [copier, event] : block.peer_uses)
        if (copier == &stream) mark = EventPool::share(event);  // its next event covers this one
      block.peer_uses.reserve(block.peer_uses.size() + 1);
    }
    const StreamPin pinned(stream);
    const bool known = mark != nullptr;
    if (!known) mark = peer.events.acquire(false);
    peer.call("record an event", [&](weir_status* status) {
      return peer.table().event_record(mark->event, stream.stream, status);
    });
    mark->recorded.store(true, std::memory_order_relaxed);
    stream.note_submission();
    waits_across_devices.store(true, std::memory_order_release);
    std::lock_guard lock(mutex_);
    if (!known) {
      block.peer_uses.emplace_back(&stream, mark);
      EventPool::share(mark);
    }
    block.used.fetch_or(more_bit, std::memory_order_release);
  } catch (...) {  // without an event for the end of the copy, the host waits
    if (mark) peer.events.release(mark);
    peer.streams.wait_for_all_of(stream);
    return;
  }
  peer.events.release(mark);
}

void MemoryPool::order_after_earlier_life(MemoryBlock& block, StreamState& stream) {
  const StreamState& home = *block.home;
  if (block.ready || &home == &stream) return;
  if (!home.foreign && home.completed.load(std::memory_order_acquire) >= block.available_at) return;
  EventState* mark = block.available ? EventPool::share(block.available) : device_.streams.mark(home.slot);
  if (!mark) return;
  DeviceState& waiting = stream.device;
  if (&waiting != &device_) waits_across_devices.store(true, std::memory_order_release);
  try {
    const StreamPin pinned(stream);
    waiting.call("wait for the stream that memory was allocated on", [&](weir_status* status) {
      return waiting.table().stream_wait_event(stream.stream, mark->event, status);
    });
  } catch (...) {
    device_.events.release(mark);
    throw;
  }
  stream.note_submission();
  device_.events.release(mark);
}

void MemoryPool::release(MemoryBlock* block) noexcept {
  block->generation.fetch_add(1, std::memory_order_release);
  if (block->owners.load(std::memory_order_acquire)) [[unlikely]]
    return release_share(*block);
  release_last(block);
}

void MemoryPool::release_last(MemoryBlock* block) noexcept {
  if (process_is_exiting() || device_.forked()) return;
  if (block->borrowed) [[unlikely]]
    return release_borrowed(block);
  if (block->available) device_.events.release(std::exchange(block->available, nullptr));
  if (StreamState* owner = only_user(*block))
    if (!owner->retired()) [[likely]]
      return put(*owner, block);
  release_shared(block);
}

// The stream whose order covers all uses of the memory block; null when there are several.
StreamState* MemoryPool::only_user(const MemoryBlock& block) noexcept {
  const std::uint64_t used = block.used.load(std::memory_order_acquire);
  if (!used) return block.home;
  if (used & (used - 1)) return nullptr;
  if (used != more_bit) return device_.streams.at(static_cast<std::uint32_t>(std::countr_zero(used)));
  const ManyStreams* more = block.more_users.load(std::memory_order_acquire);
  if (!more || !block.peer_uses.empty()) return nullptr;
  std::uint32_t count = 0, only = 0;
  more->for_each([&](std::uint32_t slot) {
    only = slot;
    ++count;
  });
  return count == 1 ? device_.streams.at(only) : nullptr;
}

void MemoryPool::release_shared(MemoryBlock* block) noexcept {
  auto peers = std::exchange(block->peer_uses, {});
  Marks marks;
  try {
    const Users users = users_of(*block);
    if (peers.empty()) {
      if (users.slots.empty()) return put_ready(block);
      if (users.slots.size() == 1 && !users.retired)
        return put(*device_.streams.at(users.slots.front()), block);
    }
    marks = marks_of(users);
    marks.reserve(marks.size() + peers.size());
    for (const auto& [stream, event] : peers) marks.push_back(event);
    peers.clear();
    if (marks.empty()) return put_ready(block);
    add_pending(block, marks, false);
  } catch (...) {  // without events the host waits, so that the memory is not reused too early
    device_.streams.wait_for_all();
    wait_on_host(marks);
    drop(marks);
    for (const auto& [stream, event] : peers) {
      DeviceState& peer = event->device;
      peer.streams.flush_all();
      StreamManager::wait_for(*event);
      peer.events.release(event);
    }
    return put_ready(block);
  }
  keep_within_limit(nullptr);
}

void MemoryPool::when_unused(std::function<void()> action) noexcept {
  if (device_.forked()) return action();  // no work of this process is in flight
  if (process_is_exiting()) {  // drivers are no longer called; their objects stay reachable for leak
                               // checkers
    std::lock_guard lock(mutex_);
    try {
      never_run_.push_front(std::move(action));
    } catch (...) {  // out of host memory: it does not stay reachable
    }
    return;
  }
  try {
    Users users;
    for (std::uint32_t slot = 0; slot < device_.streams.size(); ++slot) add_user(users, slot);
    Marks marks = marks_of(users);
    if (!marks.empty()) {
      try {
        std::lock_guard lock(mutex_);
        Pending& entry = new_pending();
        entry.action.swap(action);
        entry.marks.swap(marks);
        return;
      } catch (...) {
        drop(marks);
        throw;
      }
    }
  } catch (...) {
    device_.streams.wait_for_all();
  }
  action();
}

void MemoryPool::add_user(Users& users, std::uint32_t slot) {
  const StreamState& stream = *device_.streams.at(slot);
  const bool retired = stream.retired();
  if (!retired && stream.known_idle()) return;
  users.slots.push_back(slot);
  users.retired |= retired;
}

// For a memory block without uses: its home stream, unless it was ready for all streams.
MemoryPool::Users MemoryPool::users_of(const MemoryBlock& block) {
  Users users;
  const std::uint64_t used = block.used.load(std::memory_order_acquire);
  bool any = used & ~more_bit;
  for (std::uint64_t rest = used & ~more_bit; rest; rest &= rest - 1)
    add_user(users, static_cast<std::uint32_t>(std::countr_zero(rest)));
  if (const ManyStreams* more = block.more_users.load(std::memory_order_acquire); more && (used & more_bit))
    more->for_each([&](std::uint32_t slot) {
      any = true;
      add_user(users, slot);
    });
  if (!any && !block.ready) add_user(users, block.home->slot);
  return users;
}

MemoryPool::Marks MemoryPool::marks_of(const Users& users) {
  Marks marks;
  marks.reserve(users.slots.size());
  try {
    for (const std::uint32_t slot : users.slots)
      if (EventState* mark = device_.streams.mark(slot)) marks.push_back(mark);
  } catch (...) {
    drop(marks);
    throw;
  }
  return marks;
}

// The events may belong to another device, whose stream copied.
void MemoryPool::drop(Marks& marks) noexcept {
  for (EventState* mark : marks) mark->device.events.release(mark);
  marks.clear();
}

bool MemoryPool::is_reached(const EventState& mark) noexcept {
  DeviceState& device = mark.device;
  return work_is_over(device.call_no_throw(
      [&](weir_status* status) { return device.table().event_query(mark.event, status); }));
}

void MemoryPool::put(StreamState& owner, MemoryBlock* block) noexcept {
  block->available_at = owner.submitted.load(std::memory_order_acquire);
  block->freed_at = driver_allocations_.load(std::memory_order_relaxed);
  if (push(owner, block)) [[unlikely]]
    keep_within_limit(&owner);
}

// True when the cache has outgrown the bytes for which the limit was checked.
bool MemoryPool::push(StreamState& owner, MemoryBlock* block) noexcept {
  const std::uint64_t size = class_bytes(block->size_class);
  std::lock_guard lock(owner.cache.mutex);
  MemoryBlock*& head = owner.cache.lists[block->size_class];
  block->next = head;
  head = block;
  return owner.cache.bytes.fetch_add(size, std::memory_order_relaxed) + size >
         owner.cache.granted.load(std::memory_order_relaxed);
}

void MemoryPool::put_ready(MemoryBlock* block) noexcept {
  {
    std::lock_guard lock(mutex_);
    push_ready(block);
  }
  keep_within_limit(nullptr);
}

// The mutex must be held.
void MemoryPool::push_ready(MemoryBlock* block) noexcept {
  block->freed_at = driver_allocations_.load(std::memory_order_relaxed);
  block->next = ready_[block->size_class];
  ready_[block->size_class] = block;
  cached_bytes_.fetch_add(class_bytes(block->size_class), std::memory_order_relaxed);
}

MemoryStatistics MemoryPool::statistics() noexcept {
  MemoryStatistics result;
  if (device_.forked()) return result;
  std::uint64_t allocations = 0, cached = 0;
  for (std::uint32_t slot = 0; slot < device_.streams.size(); ++slot) {
    StreamCache& cache = device_.streams.at(slot)->cache;
    std::lock_guard lock(cache.mutex);
    cached += cache.bytes.load(std::memory_order_relaxed);
    allocations += cache.allocations;
  }
  cached += cached_bytes_.load(std::memory_order_relaxed) + leaving_bytes_.load(std::memory_order_relaxed);
  const std::uint64_t held = driver_bytes_.load(std::memory_order_relaxed);
  result.bytes_cached = cached;
  result.bytes_in_use = held - std::min(held, cached);
  result.bytes_peak = peak_bytes_.load(std::memory_order_relaxed);
  result.allocations = allocations;
  result.driver_allocations = driver_allocations_.load(std::memory_order_relaxed);
  result.cross_stream_reuses = cross_stream_.load(std::memory_order_relaxed);
  return result;
}

}  // namespace weir::detail
