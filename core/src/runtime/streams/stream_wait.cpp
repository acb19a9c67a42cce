// SPDX-License-Identifier: Apache-2.0
// Waits between streams, through events, and on the host.
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/prints/print_buffer.hpp"
#include "runtime/streams/host_callback.hpp"
#include "runtime/streams/stream_manager.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

// A failure is reported by the next call on that stream, not by a call that waits for other work.
void flush(StreamState& stream) noexcept {
  if (!stream.unflushed.exchange(false, std::memory_order_acq_rel)) return;
  DeviceState& device = stream.device;
  device.call_no_throw(
      [&](weir_status* status) { return device.table().stream_flush(stream.stream, status); });
}

}  // namespace

// Another thread may record the same event in between. The wait then covers more work than requested, never
// less.
void StreamManager::wait(StreamState& stream, StreamState& other) {
  if (&stream == &other) return;
  DeviceState& owner = other.device;
  if (&owner.driver() != &device_.driver())
    throw Error(ErrorCode::unsupported,
                "a stream of " + device_.device_name() + " cannot wait for a stream of " +
                    owner.device_name() +
                    ", which another driver serves; wait on the host with synchronize() instead");
  {
    const Submission submission(other);
    record_mark(other);
  }
  if (&owner != &device_) waits_across_devices.store(true, std::memory_order_release);
  const Submission submission(stream);
  wait_for_mark(stream, other);
}

void StreamManager::join(StreamState& caller, StreamState& leased) {
  record_mark(leased);
  wait_for_mark(caller, leased);
}

void StreamManager::record_mark(StreamState& stream) {
  DeviceState& device = stream.device;
  device.call_for(stream.launched_last(), "record an event", [&](weir_status* status) {
    return device.table().event_record(stream.mark, stream.stream, status);
  });
  stream.note_submission();
}

void StreamManager::wait_for_mark(StreamState& stream, StreamState& other) {
  device_.call_for(stream.launched_last(), "wait for another stream", [&](weir_status* status) {
    return device_.table().stream_wait_event(stream.stream, other.mark, status);
  });
  stream.note_submission();
}

// The last event of a retired stream; it covers all work of the stream.
EventState* StreamManager::last_mark(StreamState& stream) noexcept {
  const std::lock_guard lock(mutex_);
  return stream.final_mark ? EventPool::share(stream.final_mark) : nullptr;
}

EventState* StreamManager::mark(std::uint32_t slot) {
  StreamState& stream = *at(slot);
  if (!pin(stream)) return last_mark(stream);
  EventState* event = nullptr;
  try {
    if (!stream.known_idle()) {
      event = device_.events.acquire(false);
      device_.call("record an event", [&](weir_status* status) {
        return device_.table().event_record(event->event, stream.stream, status);
      });
      event->recorded.store(true, std::memory_order_relaxed);
      stream.note_submission();
    }
  } catch (...) {
    if (event) device_.events.release(event);
    unpin(stream);
    throw;
  }
  unpin(stream);
  return event;
}

void StreamManager::flush_all() noexcept {
  if (waits_across_devices.load(std::memory_order_acquire)) [[unlikely]]
    for (std::uint32_t n = 0; DeviceState* device = device_by_number(n); ++n)
      if (device != &device_ && !device->lost()) device->streams.flush_own();
  flush_own();
}

void StreamManager::flush_own() noexcept {
  const std::uint32_t count = size();
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    StreamState& stream = *at(slot);
    if (!stream.unflushed.load(std::memory_order_acquire) || !pin(stream)) continue;
    flush(stream);
    unpin(stream);
  }
}

void StreamManager::synchronize(StreamState& stream) {
  synchronize(StreamPin(stream), stream);
}

void StreamManager::synchronize(const StreamPin&, StreamState& stream) {
  if (HostCallback::running_on() == &stream) [[unlikely]]
    throw Error(ErrorCode::invalid,
                "a host callback waits for its own stream, which continues only after the callback has "
                "returned; wait on another thread");
  stream.unflushed.store(false,
                         std::memory_order_relaxed);  // the driver's own wait starts this stream's work
  flush_all();
  const std::uint64_t submitted = stream.submitted.load(std::memory_order_acquire);
  try {
    device_.call_for(stream.launched_last(), "wait for a stream", [&](weir_status* status) {
      return device_.table().stream_synchronize(stream.stream, status);
    });
  } catch (...) {
    show_printed_lines(stream);  // which help to find the reason
    throw;
  }
  stream.note_completion(submitted);
  const bool shown = show_printed_lines(stream);
  if (stream.lease.joined_streams.load(std::memory_order_relaxed)) check_joined_streams(stream);
  throw_failure_after_wait(stream);
  if (!shown) throw std::bad_alloc();
}

bool StreamManager::query(StreamState& stream) {
  const StreamPin pinned(stream);
  throw_failure(stream);
  flush_all();
  const std::uint64_t submitted = stream.submitted.load(std::memory_order_acquire);
  const bool done = device_.query(stream.launched_last(), "query a stream", [&](weir_status* status) {
    return device_.table().stream_query(stream.stream, status);
  });
  if (!done) return false;
  stream.note_completion(submitted);
  const bool shown = show_printed_lines(stream);
  if (stream.lease.joined_streams.load(std::memory_order_relaxed)) check_joined_streams(stream);
  throw_failure(stream);
  if (!shown) throw std::bad_alloc();
  return true;
}

// Calls `live` for each stream, and `retired` with the last event of each destroyed stream. Neither may
// throw.
template <class Live, class Retired>
void StreamManager::walk(const Live& live, const Retired& retired) noexcept {
  flush_all();
  const std::uint32_t count = size();
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    StreamState& stream = *at(slot);
    if (pin(stream)) {
      live(stream);
      unpin(stream);
    } else if (EventState* mark = last_mark(stream)) {
      retired(*mark);
      device_.events.release(mark);
    }
  }
}

void StreamManager::synchronize_all() {
  std::exception_ptr first;
  const auto keep_first = [&](auto&& action) {
    try {
      action();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  };
  walk([&](StreamState& stream) { keep_first([&] { synchronize(stream); }); },
       [&](EventState& mark) {
         keep_first([&] {
           device_.call("wait for a stream that was destroyed", [&](weir_status* status) {
             return device_.table().event_synchronize(mark.event, status);
           });
         });
       });
  show_printed_lines_of(WhichStreams::destroyed);
  if (first) std::rethrow_exception(first);
}

void StreamManager::wait_for_all() noexcept {
  walk(
      [&](StreamState& stream) {
        if (!stream.known_idle()) wait_for_all_of(stream);
      },
      [](EventState& mark) { wait_for(mark); });
}

void StreamManager::show_printed_lines_of(WhichStreams which) noexcept {
  const std::uint32_t count = size();
  for (std::uint32_t slot = 0; slot < count; ++slot)
    if (which == WhichStreams::all || at(slot)->retired()) show_printed_lines(*at(slot));
}

void StreamManager::wait_for_others(const StreamState& stream,
                                    std::chrono::steady_clock::time_point deadline) noexcept {
  const auto over = [&] {
    bool all = true;
    walk(
        [&](StreamState& other) {
          if (!all || &other == &stream || other.known_idle()) return;
          all = device_.call_no_throw([&](weir_status* status) {
            return device_.table().stream_query(other.stream, status);
          }) != WEIR_NOT_READY;
        },
        [&](EventState& mark) {
          if (!all) return;
          all = device_.call_no_throw([&](weir_status* status) {
            return device_.table().event_query(mark.event, status);
          }) != WEIR_NOT_READY;
        });
    return all;
  };
  while (!over() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void StreamManager::wait_for(EventState& mark) noexcept {
  const auto wait = [&](weir_status* status) {
    return mark.device.table().event_synchronize(mark.event, status);
  };
  if (!work_is_over(mark.device.call_no_throw(wait))) mark.device.call_no_throw(wait);
}

}  // namespace weir::detail
