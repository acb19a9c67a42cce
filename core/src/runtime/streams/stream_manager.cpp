// SPDX-License-Identifier: Apache-2.0
// User streams: creation, return to the pool, retirement. See leased_streams.cpp for the streams that regions
// lease and stream_wait.cpp for waiting.
#include "runtime/streams/stream_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"

namespace weir::detail {

StreamState* StreamManager::create(int priority) {
  device_.check_not_forked();
  StreamState* stream = take_kept(priority);
  if (!stream) stream = make(priority, nullptr);
  stream->generation.fetch_add(1, std::memory_order_release);
  return stream;
}

// Takes an idle stream from the pool. A stream whose work failed is not reused.
StreamState* StreamManager::take_kept(int priority) {
  StreamState* stream = nullptr;
  {
    std::lock_guard lock(mutex_);
    for (StreamState* candidate : kept_)
      if (candidate->priority == priority && (!stream || candidate->known_idle())) {
        stream = candidate;
        if (stream->known_idle()) break;
      }
    if (!stream) return nullptr;
    std::erase(kept_, stream);
  }
  const std::uint64_t submitted = stream->submitted.load(std::memory_order_acquire);
  const weir_result result = device_.call_no_throw(
      [&](weir_status* status) { return device_.table().stream_query(stream->stream, status); });
  if (result == WEIR_OK) {
    stream->note_completion(submitted);
    stream->last_kernel.store(nullptr, std::memory_order_relaxed);
    stream->last_launch.set({});
    stream->lease.joined_streams.store(0, std::memory_order_relaxed);
    forget_failure(*stream);
    return stream;
  }
  if (result == WEIR_NOT_READY) {
    std::lock_guard lock(mutex_);
    if (kept_.size() < kept_streams) {
      kept_.push_back(stream);
      return nullptr;
    }
  }
  retire(stream);
  return nullptr;
}

StreamState* StreamManager::wrap(void* native) {
  if (!native)
    throw Error(ErrorCode::invalid,
                "wrap_stream: the vendor's stream handle is null; use default_stream() or "
                "create_stream() for a stream of Weir's own");
  device_.check_not_forked();
  StreamState* stream = make(0, native);
  stream->generation.fetch_add(1, std::memory_order_release);
  return stream;
}

StreamState* StreamManager::default_stream() {
  if (StreamState* stream = default_.load(std::memory_order_acquire)) return stream;
  StreamState* stream = create(0);
  StreamState* expected = nullptr;
  if (default_.compare_exchange_strong(expected, stream, std::memory_order_acq_rel)) return stream;
  destroy(stream);
  return expected;
}

void StreamManager::destroy(StreamState* stream) noexcept {
  stream->generation.fetch_add(1, std::memory_order_release);
  if (process_is_exiting()) return;
  if (!stream->foreign && !device_.lost()) {
    std::lock_guard lock(mutex_);
    if (kept_.size() < kept_streams) {
      kept_.push_back(stream);
      return;
    }
  }
  retire(stream);
}

// Returns a slot whose stream was destroyed and whose last work is done. Until then, memory blocks name
// the slot as their user.
StreamState* StreamManager::reusable_slot() {
  std::size_t tries;
  {
    std::lock_guard lock(mutex_);
    tries = free_count_;
  }
  while (tries-- > 0) {
    StreamState* stream = nullptr;
    EventState* mark = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (!first_free_) return nullptr;
      stream = std::exchange(first_free_, first_free_->next_free);
      if (!first_free_) last_free_ = nullptr;
      --free_count_;
      mark = stream->final_mark;
    }
    if (!mark) return stream;
    const weir_result result = device_.call_no_throw(
        [&](weir_status* status) { return device_.table().event_query(mark->event, status); });
    {
      std::lock_guard lock(mutex_);
      if (!work_is_over(result)) {
        list_free_slot(*stream);
        continue;
      }
      stream->final_mark = nullptr;
    }
    device_.events.release(mark);  // may call the driver, so not under the lock
    return stream;
  }
  return nullptr;
}

StreamState* StreamManager::free_slot() {
  if (StreamState* stream = reusable_slot()) return stream;
  std::lock_guard lock(mutex_);
  const std::uint32_t slot = size_.load(std::memory_order_relaxed);
  if (slot == chunk * chunks)
    throw Error(
        ErrorCode::system,
        fmt::format(
            "device {} has {} streams, the most that Weir keeps at once; {}", device_.device_name(), slot,
            process_is_exiting() ? "destroyed ones are not reused while the process exits" : "destroy some"));
  if (slot % chunk == 0) {
    auto* states = static_cast<StreamState*>(
        ::operator new (sizeof(StreamState) * chunk, std::align_val_t{alignof(StreamState)}));
    for (std::uint32_t i = 0; i < chunk; ++i) new (states + i) StreamState(device_, slot + i);
    table_[slot / chunk].store(states, std::memory_order_release);
  }
  size_.store(slot + 1, std::memory_order_release);
  return at(slot);
}

StreamState* StreamManager::make(int priority, void* native) {
  const weir_device device = device_.handle();
  const weir_driver_table& table = device_.table();
  weir_stream handle = nullptr;
  if (native) {
    device_.call("wrap a stream",
                 [&](weir_status* status) { return table.stream_wrap(device, native, &handle, status); });
  } else {
    weir_stream_options options{};
    options.struct_size = sizeof options;
    options.priority = priority;
    device_.call("create a stream",
                 [&](weir_status* status) { return table.stream_create(device, &options, &handle, status); });
  }
  weir_event mark = nullptr;
  StreamState* stream = nullptr;
  try {
    device_.call("create an event", [&](weir_status* status) {
      return table.event_create(device, WEIR_EVENT_PLAIN, &mark, status);
    });
    stream = free_slot();
  } catch (...) {
    if (mark) device_.call_no_throw([&](weir_status* status) { return table.event_destroy(mark, status); });
    device_.call_no_throw([&](weir_status* status) { return table.stream_destroy(handle, status); });
    throw;
  }
  stream->stream = handle;
  stream->mark = mark;
  stream->priority = priority;
  stream->foreign = native != nullptr;
  stream->closed.store(false, std::memory_order_relaxed);
  stream->last_kernel.store(nullptr, std::memory_order_relaxed);
  stream->last_launch.set({});
  stream->lease.joined_into.store(nullptr, std::memory_order_relaxed);
  stream->lease.joined_streams.store(0, std::memory_order_relaxed);
  stream->lease.slot = -1;
  stream->lease.failed.store(false, std::memory_order_relaxed);
  stream->note_completion(stream->submitted.load(std::memory_order_relaxed));
  forget_failure(*stream);  // of the slot's previous stream
  stream->pins.store(0, std::memory_order_release);
  created_.fetch_add(1, std::memory_order_relaxed);
  if (!watched_.exchange(true, std::memory_order_relaxed)) watch_process();
  return stream;
}

bool StreamManager::pin(StreamState& stream) noexcept {
  std::uint32_t pins = 0;  // as usual; the first exchange reads another value
  while (!stream.pins.compare_exchange_weak(pins, pins + 1, std::memory_order_acq_rel))
    if (pins & StreamState::retiring) return false;
  return true;
}

void StreamManager::unpin(StreamState& stream) noexcept {
  if (stream.pins.fetch_sub(1, std::memory_order_acq_rel) == (StreamState::retiring | 1))
    destroy_driver_stream(stream);
}

// Waits until another thread's submission ends. The last unpin destroys the driver stream. Memory used by the
// stream and freed later waits for `final_mark` instead.
void StreamManager::retire(StreamState* stream) noexcept {
  {
    const std::lock_guard lock(stream->submission_lock);
    stream->closed.store(true, std::memory_order_relaxed);
  }
  EventState* mark = nullptr;
  if (!device_.lost() && !stream->known_idle()) try {
      mark = device_.events.acquire(false);
      device_.call("record an event", [&](weir_status* status) {
        return device_.table().event_record(mark->event, stream->stream, status);
      });
      mark->recorded.store(true, std::memory_order_relaxed);
      device_.call("flush a stream",
                   [&](weir_status* status) { return device_.table().stream_flush(stream->stream, status); });
    } catch (...) {  // without an event for the end of the work, the host waits
      if (mark) device_.events.release(mark);
      mark = nullptr;
      wait_for_all_of(*stream);
    }
  device_.memory.adopt_cache(*stream, mark);
  {
    std::lock_guard lock(mutex_);
    stream->final_mark = mark;
  }
  pin(*stream);
  stream->pins.fetch_or(StreamState::retiring, std::memory_order_acq_rel);
  unpin(*stream);
}

// A wait is not retried if its failure means that the work has ended, as on a lost device.
void StreamManager::wait_for_all_of(StreamState& stream) noexcept {
  flush_all();
  if (!pin(stream)) {
    if (EventState* mark = last_mark(stream)) {
      wait_for(*mark);
      device_.events.release(mark);
    }
    return;
  }
  const auto wait = [&](weir_status* status) {
    return device_.table().stream_synchronize(stream.stream, status);
  };
  if (!work_is_over(device_.call_no_throw(wait))) device_.call_no_throw(wait);
  unpin(stream);
}

void StreamManager::destroy_driver_stream(StreamState& stream) noexcept {
  const weir_driver_table& table = device_.table();
  device_.call_no_throw([&](weir_status* status) { return table.event_destroy(stream.mark, status); });
  device_.call_no_throw([&](weir_status* status) { return table.stream_destroy(stream.stream, status); });
  stream.stream = nullptr;
  stream.mark = nullptr;
  created_.fetch_sub(1, std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  list_free_slot(stream);
}

// The mutex must be held.
void StreamManager::list_free_slot(StreamState& stream) noexcept {
  stream.next_free = nullptr;
  (last_free_ ? last_free_->next_free : first_free_) = &stream;
  last_free_ = &stream;
  ++free_count_;
}

void StreamManager::invalidate_all() noexcept {
  default_.store(nullptr, std::memory_order_relaxed);
  for (std::uint32_t slot = 0; slot < size(); ++slot)
    at(slot)->generation.fetch_add(2, std::memory_order_relaxed);  // parity stays: odd while in use
}

void StreamManager::trim() noexcept {
  std::array<StreamState*, kept_streams> idle;
  std::size_t count = 0;
  {
    std::lock_guard lock(mutex_);
    for (StreamState* stream : kept_)
      if (stream->known_idle()) idle[count++] = stream;
    for (std::size_t i = 0; i < count; ++i) std::erase(kept_, idle[i]);
  }
  for (std::size_t i = 0; i < count; ++i) retire(idle[i]);
}

}  // namespace weir::detail
