// SPDX-License-Identifier: Apache-2.0
// Memory blocks with several owners, and memory blocks of other libraries' memory.
#include <fmt/format.h>

#include <utility>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {

// The first share counts the array, too. The array is alive meanwhile, so the count does not reach 0.
void MemoryPool::share(MemoryBlock& block) noexcept {
  std::uint32_t owners = block.owners.load(std::memory_order_relaxed);
  while (!block.owners.compare_exchange_weak(owners, owners ? owners + 1 : 2, std::memory_order_relaxed)) {
  }
}

void MemoryPool::release_share(MemoryBlock& block) noexcept {
  if (block.owners.fetch_sub(1, std::memory_order_acq_rel) == 1) release_last(&block);
}

MemoryBlock* MemoryPool::borrow(StreamState& stream, const weir_external_memory& memory,
                                std::function<void()> give_back) {
  auto borrowed = std::make_unique<Borrowed>();
  borrowed->size = memory.size;
  borrowed->on_host = memory.kind == WEIR_EXTERNAL_HOST;
  if (!device_.has(Capability::external_memory))
    throw Error(ErrorCode::unsupported,
                fmt::format("device {} cannot use memory that another library owns; copy it into an array",
                            device_.device_name()));
  const weir_device device = device_.handle();
  weir_allocation allocation = nullptr;
  device_.call([&] { return fmt::format("use {} bytes of memory of another owner", memory.size); },
               [&](weir_status* s) { return device_.table().memory_wrap(device, &memory, &allocation, s); });
  weir_memory_info info{};
  info.struct_size = sizeof info;
  EventState* mark = nullptr;
  MemoryBlock* block = nullptr;
  try {
    device_.call("query the location of memory",
                 [&](weir_status* s) { return device_.table().memory_get_info(allocation, &info, s); });
    // Another library may have let the stream wait for its own work, which the stream's counters do not
    // include.
    mark = device_.events.acquire(false);
    {
      const Submission submission(stream);
      device_.call("record an event", [&](weir_status* s) {
        return device_.table().event_record(mark->event, stream.stream, s);
      });
      mark->recorded.store(true, std::memory_order_relaxed);
      stream.note_submission();
    }
    block = new_block();
  } catch (...) {
    if (mark) device_.events.release(mark);
    device_.call_no_throw([&](weir_status* s) { return device_.table().memory_free(allocation, s); });
    throw;
  }
  borrowed->give_back = std::move(give_back);
  block->borrowed = std::move(borrowed);
  block->allocation = allocation;
  block->address = info.device_address;
  block->size_class = 0;
  block->available_at = stream.submitted.load(std::memory_order_acquire);
  block->available = mark;
  return hand_out(block, stream, false);
}

void MemoryPool::release_borrowed(MemoryBlock* block) noexcept {
  Marks marks;
  try {
    marks = marks_of_uses(*block);
    if (!marks.empty()) {
      std::lock_guard lock(mutex_);
      Pending& entry = new_pending();
      entry.action = [this, block] { end_borrowed(block); };  // two words, stored without allocation
      entry.marks.swap(marks);
      return;
    }
  } catch (...) {  // without events the host waits
    device_.streams.wait_for_all();
    wait_on_host(marks);
    drop(marks);
  }
  end_borrowed(block);
}

// Ends the memory block. A lost device reports its work as complete although that work may still use the
// memory. Weir then keeps the memory.
void MemoryPool::end_borrowed(MemoryBlock* block) noexcept {
  for (const auto& [stream, event] : std::exchange(block->peer_uses, {})) event->device.events.release(event);
  if (block->available) device_.events.release(std::exchange(block->available, nullptr));
  if (device_.keeps_resources()) return;
  given_back_.fetch_add(1, std::memory_order_release);
  device_.call_no_throw(
      [&](weir_status* status) { return device_.table().memory_free(block->allocation, status); });
  const std::unique_ptr<Borrowed> borrowed = std::move(block->borrowed);
  recycle(block);
  borrowed->give_back();
}

// One event for each stream with work that may use the memory block, those of other devices included.
MemoryPool::Marks MemoryPool::marks_of_uses(const MemoryBlock& block) {
  Marks marks = marks_of(users_of(block));
  try {
    std::lock_guard lock(mutex_);
    marks.reserve(marks.size() + block.peer_uses.size());
    for (const auto& [stream, event] : block.peer_uses) marks.push_back(EventPool::share(event));
  } catch (...) {
    drop(marks);
    throw;
  }
  return marks;
}

void MemoryPool::order_after_uses(MemoryBlock& block, StreamState& stream) {
  Marks marks = marks_of_uses(block);
  try {
    for (EventState* mark : marks) {
      if (&mark->device != &device_) waits_across_devices.store(true, std::memory_order_release);
      const Submission submission(stream);
      device_.call("wait for the streams that use an array", [&](weir_status* status) {
        return device_.table().stream_wait_event(stream.stream, mark->event, status);
      });
      stream.note_submission();
    }
    use(block, stream);
  } catch (...) {
    drop(marks);
    throw;
  }
  drop(marks);
}

void MemoryPool::wait_for_uses(const MemoryBlock& block) {
  Marks marks = marks_of_uses(block);
  wait_on_host(marks);
  drop(marks);
}

}  // namespace weir::detail
