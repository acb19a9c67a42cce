// SPDX-License-Identifier: Apache-2.0
#include "stream/event.hpp"

#include <ctime>
#include <utility>

#include "functions.hpp"
#include "stream/stream.hpp"

namespace weir::cpu {
namespace {

std::int64_t now_nanoseconds() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// The event's mark with a reference to its stream, which is null when there is none.
std::pair<Stream*, std::uint64_t> current_mark(Event& event) {
  std::lock_guard lock(event.mutex);
  if (event.stream) event.stream->add_reference();
  return {event.stream, event.mark};
}

}  // namespace

void Event::drop_reference() noexcept {
  if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (stream) std::exchange(stream, nullptr)->drop_reference();
  Pool<Event>::of().give(*this);
}

void stamp_event(Event& event, std::uint64_t generation) noexcept {
  const std::int64_t now = now_nanoseconds();
  std::lock_guard lock(event.mutex);
  if (event.generation != generation) return;
  event.nanoseconds = now;
  event.stamped = generation;
}

weir_result event_create(weir_device device_handle, uint32_t flags, weir_event* out_event,
                         weir_status* status) {
  return guarded(status, [&] {
    Device& device = live<Device>(device_handle, "device");
    weir_event& out = output(out_event, "out_event");
    if (flags & ~std::uint32_t{WEIR_EVENT_TIMED})
      fail(WEIR_ERROR_INVALID, "flags is 0x%x; expected WEIR_EVENT_PLAIN or WEIR_EVENT_TIMED", flags);
    Event* event = &Pool<Event>::of().take();
    event->device = &device;
    event->timed = flags & WEIR_EVENT_TIMED;
    event->mark = event->generation = event->stamped = 0;
    event->references.store(1, std::memory_order_relaxed);
    event->kind.store(Kind::event, std::memory_order_release);
    out = handle_of<weir_event>(*event);
  });
}

weir_result event_destroy(weir_event handle, weir_status* status) {
  return guarded(status, [&] {
    Event& event = live<Event>(handle, "event");
    retire(event, "event");
    event.drop_reference();
  });
}

weir_result event_record(weir_event event_handle, weir_stream stream_handle, weir_status* status) {
  return guarded(status, [&] {
    Event& event = live<Event>(event_handle, "event");
    Stream& stream = live<Stream>(stream_handle, "stream");
    sdk::check_device(*stream.device, event, "event");
    check_stream(stream);
    Stream* before = nullptr;
    stream.add_reference();
    {
      // The event's lock covers the submission, so that mark and generation belong together.
      std::lock_guard lock(event.mutex);
      const std::uint64_t generation = event.generation + 1;
      if (event.timed) {  // an operation of the stream, even an idle one: later work may start after it
        std::uint64_t mark = 0;
        try {
          submit(stream, Weight::light, [&](Operation& operation) {
            operation.kind = Operation::Kind::stamp;
            operation.stamp = {&event, generation};
            event.references.fetch_add(1, std::memory_order_relaxed);
            mark = stream.submitted.load(std::memory_order_relaxed) + 1;
          });
        } catch (...) {
          stream.drop_reference();
          throw;
        }
        event.mark = mark;
      } else {
        event.mark = stream.submitted.load(std::memory_order_acquire);
      }
      event.generation = generation;
      before = std::exchange(event.stream, &stream);
    }
    if (before) before->drop_reference();
  });
}

weir_result event_query(weir_event handle, weir_status* status) {
  return guarded(status, [&]() -> weir_result {
    Event& event = live<Event>(handle, "event");
    std::lock_guard lock(event.mutex);
    if (!event.stream || event.stream->reached(event.mark)) return WEIR_OK;
    return WEIR_NOT_READY;
  });
}

weir_result event_synchronize(weir_event handle, weir_status* status) {
  return guarded(status, [&] {
    auto [stream, mark] = current_mark(live<Event>(handle, "event"));
    if (!stream) return;
    Scheduler::get().wait(*stream, mark);
    stream->drop_reference();
  });
}

weir_result event_elapsed(weir_event start_handle, weir_event end_handle, double* out_nanoseconds,
                          weir_status* status) {
  return guarded(status, [&]() -> weir_result {
    std::int64_t times[2];
    Event* events[2] = {&live<Event>(start_handle, "start"), &live<Event>(end_handle, "end")};
    double& out = output(out_nanoseconds, "out_nanoseconds");
    sdk::check_device(*events[0]->device, *events[1], "end");
    bool ready = true;
    for (int i = 0; i < 2; ++i) {
      const char* what = i == 0 ? "start" : "end";
      Event& event = *events[i];
      if (!event.timed)
        fail(WEIR_ERROR_INVALID, "%s is not a timed event; create it with WEIR_EVENT_TIMED", what);
      std::lock_guard lock(event.mutex);
      if (!event.stream) fail(WEIR_ERROR_INVALID, "%s was never recorded", what);
      ready = ready && event.stamped == event.generation && event.stream->reached(event.mark);
      times[i] = event.nanoseconds;
    }
    if (!ready) return WEIR_NOT_READY;
    out = static_cast<double>(times[1] - times[0]);
    return WEIR_OK;
  });
}

}  // namespace weir::cpu
