// SPDX-License-Identifier: Apache-2.0
#include "validate.hpp"

namespace weir::validate {

weir_result Validate::event_create(weir_device handle, std::uint32_t flags, weir_event* out,
                                   weir_status* status) {
  const std::shared_ptr<Device> device = live<Device>(handle, "device");
  out_argument(out, "out_event");
  if (flags > WEIR_EVENT_TIMED)
    refuse("argument", "flags is 0x%x; expected WEIR_EVENT_PLAIN or WEIR_EVENT_TIMED", flags);
  auto event = std::make_shared<Event>();
  event->timed = flags & WEIR_EVENT_TIMED;
  const weir_result result = next.event_create(device->real, flags, &event->real, status);
  if (result == WEIR_OK) put(event, device, *out, [&] { next.event_destroy(event->real, nullptr); });
  return result;
}

weir_result Validate::event_destroy(weir_event handle, weir_status* status) {
  const std::shared_ptr<Event> event = live<Event>(handle, "event");
  {
    const Lock lock(mutex_);
    objects_.remove(*event, "event_destroy");
  }
  return next.event_destroy(event->real, status);
}

weir_result Validate::event_record(weir_event handle, weir_stream stream_handle, weir_status* status) {
  const std::shared_ptr<Event> event = live<Event>(handle, "event");
  const std::shared_ptr<Stream> stream = live<Stream>(stream_handle, "stream");
  check_device(*event, *stream->device, "event");
  Clock before = clock_of(*stream);
  const weir_result result = next.event_record(event->real, stream->real, status);
  if (result != WEIR_OK) return result;
  return taken([&] {
    const Lock lock(mutex_);
    event->recorded = true;
    event->clock = std::move(before);
    event->clock.join(stream->clock);  // other threads may have submitted more before the record
  });
}

weir_result Validate::event_query(weir_event handle, weir_status* status) {
  const std::shared_ptr<Event> event = live<Event>(handle, "event");
  const Clock mark = clock_of(*event);
  return waited(next.event_query(event->real, status), mark);
}

weir_result Validate::event_synchronize(weir_event handle, weir_status* status) {
  const std::shared_ptr<Event> event = live<Event>(handle, "event");
  const Clock mark = clock_of(*event);
  return waited(next.event_synchronize(event->real, status), mark);
}

weir_result Validate::event_elapsed(weir_event start_handle, weir_event end_handle, double* out,
                                    weir_status* status) {
  const std::shared_ptr<Event> start = live<Event>(start_handle, "start");
  const std::shared_ptr<Event> end = live<Event>(end_handle, "end");
  out_argument(out, "out_nanoseconds");
  for (const auto& event : {start, end}) {
    const char* const what = event == start ? "start" : "end";
    if (!event->timed)
      refuse("argument", "%s is %s, which has no times; expected one made with WEIR_EVENT_TIMED", what,
             describe(*event).c_str());
    bool recorded;
    {
      const Lock lock(mutex_);
      recorded = event->recorded;
    }
    if (!recorded) refuse("argument", "%s is %s, which was never recorded", what, describe(*event).c_str());
  }
  check_device(*end, *start->device, "end");
  return next.event_elapsed(start->real, end->real, out, status);
}

}  // namespace weir::validate
