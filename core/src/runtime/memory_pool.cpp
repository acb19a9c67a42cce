// SPDX-License-Identifier: Apache-2.0
// Handing blocks out and taking them back. See memory_reuse.cpp for where blocks come from when the stream's
// own cache has none.
#include "runtime/memory_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/device_state.hpp"
#include "runtime/stream_errors.hpp"

namespace weir::detail {

namespace {
constexpr std::uint32_t exact_slots = 63;
constexpr std::uint64_t more_bit = std::uint64_t{1} << exact_slots;
}  // namespace

Block* MemoryPool::allocate(StreamState& stream, std::uint64_t bytes) {
  if (bytes > max_block_bytes)
    throw Error(ErrorCode::out_of_memory,
                fmt::format("cannot allocate {} bytes on {}: a single array holds at most {} bytes", bytes,
                            device_.device_name(), max_block_bytes));
  const std::uint32_t index = size_class(bytes);
  if (Block* block = take_from(stream, index)) return hand_out(block, stream, false);
  if (pending_count_.load(std::memory_order_relaxed)) collect_pending();
  if (Block* block = take_ready(index)) return hand_out(block, stream, true);
  if (Block* block = take_idle(stream, index)) return hand_out(block, stream, true);
  return allocate_from_driver(stream, index);
}

Block* MemoryPool::hand_out(Block* block, StreamState& home, bool ready) noexcept {
  block->home = &home;
  block->ready = ready;
  block->next = nullptr;
  block->used.store(0, std::memory_order_relaxed);
  block->more_users.clear();
  block->generation.fetch_add(1, std::memory_order_release);
  return block;
}

void MemoryPool::first_use(Block& block, StreamState& stream, std::uint64_t bit) {
  if (stream.slot >= exact_slots) {
    std::lock_guard lock(mutex_);
    if (std::ranges::find(block.more_users, stream.slot) != block.more_users.end()) return;
  }
  order_after_earlier_life(block, stream);
  if (stream.slot >= exact_slots) {
    std::lock_guard lock(mutex_);
    block.more_users.push_back(stream.slot);
  }
  block.used.fetch_or(bit, std::memory_order_release);
}

void MemoryPool::use_by_peer(Block& block, StreamState& stream) {
  if (&stream.device == &device_) return use(block, stream);
  order_after_earlier_life(block,
                           stream);  // the other device's streams have no bits here, so each copy waits
}

void MemoryPool::order_free_after(Block& block, StreamState& stream) {
  DeviceState& peer = stream.device;
  EventState* mark = nullptr;
  try {
    {
      std::lock_guard lock(mutex_);
      for (auto& [copier, event] : block.peer_uses)
        if (copier == &stream) mark = EventPool::share(event);  // its next mark covers this one
      block.peer_uses.reserve(block.peer_uses.size() + 1);
    }
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
  } catch (
      ...) {  // without a mark nobody could tell when the memory is free again, so the copy is waited for now
    if (mark) peer.events.release(mark);
    peer.streams.wait_for_all_of(stream);
    return;
  }
  peer.events.release(mark);
}

void MemoryPool::order_after_earlier_life(Block& block, StreamState& stream) {
  const StreamState& home = *block.home;
  if (block.ready || &home == &stream) return;
  if (!home.foreign && home.completed.load(std::memory_order_acquire) >= block.available_at) return;
  EventState* mark = block.available ? EventPool::share(block.available) : device_.streams.mark(home.slot);
  if (!mark) return;
  DeviceState& waiting = stream.device;
  if (&waiting != &device_) waits_across_devices.store(true, std::memory_order_release);
  try {
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

void MemoryPool::release(Block* block) noexcept {
  block->generation.fetch_add(1, std::memory_order_release);
  if (process_is_exiting() || device_.forked()) return;
  if (block->available) device_.events.release(std::exchange(block->available, nullptr));
  const std::uint64_t used = block->used.load(std::memory_order_acquire);
  if (!(used & more_bit) && !(used & (used - 1))) {  // at most one stream used it
    StreamState& owner =
        used ? *device_.streams.at(static_cast<std::uint32_t>(std::countr_zero(used))) : *block->home;
    if (!(owner.pins.load(std::memory_order_acquire) & StreamState::retiring)) [[likely]]
      return put(owner, block);
  }
  release_shared(block);
}

void MemoryPool::release_shared(Block* block) noexcept {
  auto peers = std::exchange(block->peer_uses, {});
  Marks marks;
  try {
    std::uint64_t used = block->used.load(std::memory_order_relaxed);
    if (!(used & ~more_bit) && block->more_users.empty() && !block->ready) {
      // Never used here: what matters is the block's earlier life.
      if (block->home->slot < exact_slots)
        used = std::uint64_t{1} << block->home->slot;
      else
        block->more_users.push_back(block->home->slot);
    }
    const Users users = users_of(used, block->more_users);
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
    std::lock_guard lock(mutex_);
    pending_.push_back({block, nullptr, {}});
    pending_.back().marks.swap(marks);
    pending_bytes_ += class_bytes(block->size_class);
    pending_count_.fetch_add(1, std::memory_order_relaxed);
  } catch (...) {  // no marks to be had: wait instead, so that the memory is not reused too early
    device_.streams.wait_for_all();
    wait_on_host(marks);
    drop(marks);
    for (const auto& [stream, event] : peers) {
      DeviceState& peer = event->device;
      peer.streams.flush_all();
      StreamManager::wait_for(*event);
      peer.events.release(event);
    }
    put_ready(block);
  }
}

void MemoryPool::when_unused(std::function<void()> action) noexcept {
  if (device_.forked()) return action();  // no work of this process is in flight
  if (process_is_exiting()) {  // drivers are left alone by now; what they hold stays reachable for leak
                               // checkers
    std::lock_guard lock(mutex_);
    try {
      never_run_.push_front(std::move(action));
    } catch (...) {  // no host memory: it is not kept in reach then
    }
    return;
  }
  try {
    std::vector<std::uint32_t> all(device_.streams.size());
    for (std::uint32_t slot = 0; slot < all.size(); ++slot) all[slot] = slot;
    Pending entry{nullptr, action, marks_of(users_of(0, all))};
    if (!entry.marks.empty()) {
      std::lock_guard lock(mutex_);
      pending_.push_back(std::move(entry));
      pending_count_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  } catch (...) {
    device_.streams.wait_for_all();
  }
  action();
}

MemoryPool::Users MemoryPool::users_of(std::uint64_t used, const std::vector<std::uint32_t>& more) {
  Users users;
  const auto add = [&](std::uint32_t slot) {
    const StreamState& stream = *device_.streams.at(slot);
    const bool retired = stream.pins.load(std::memory_order_acquire) & StreamState::retiring;
    if (!retired && stream.known_idle()) return;
    users.slots.push_back(slot);
    users.retired |= retired;
  };
  for (std::uint64_t rest = used & ~more_bit; rest; rest &= rest - 1)
    add(static_cast<std::uint32_t>(std::countr_zero(rest)));
  for (const std::uint32_t slot : more) add(slot);
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

// Marks may be of another device, whose stream has copied.
void MemoryPool::drop(Marks& marks) noexcept {
  for (EventState* mark : marks) mark->device.events.release(mark);
  marks.clear();
}

bool MemoryPool::is_reached(const EventState& mark) noexcept {
  DeviceState& device = mark.device;
  return work_is_over(
      device.quiet([&](weir_status* status) { return device.table().event_query(mark.event, status); }));
}

void MemoryPool::put(StreamState& owner, Block* block) noexcept {
  block->available_at = owner.submitted.load(std::memory_order_acquire);
  std::lock_guard lock(owner.cache.mutex);
  Block*& head = owner.cache.lists[block->size_class];
  block->next = head;
  head = block;
  owner.cache.bytes.fetch_add(class_bytes(block->size_class), std::memory_order_relaxed);
}

void MemoryPool::put_ready(Block* block) noexcept {
  std::lock_guard lock(mutex_);
  block->next = ready_[block->size_class];
  ready_[block->size_class] = block;
  ready_bytes_ += class_bytes(block->size_class);
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
  std::lock_guard lock(mutex_);
  cached += ready_bytes_ + pending_bytes_;
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
