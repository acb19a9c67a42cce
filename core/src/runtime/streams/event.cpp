// SPDX-License-Identifier: Apache-2.0
#include <weir/event.hpp>
#include <weir/stream.hpp>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/streams/submission.hpp"

namespace weir {

using detail::DeviceState;
using detail::EventState;
using detail::live;
using detail::StreamState;

bool EventRef::alive() const noexcept {
  return state_ && state_->generation.load(std::memory_order_acquire) == generation_;
}

Event::~Event() {
  if (alive()) state_->device.events.release(state_);
}

Device EventRef::device() const try { return Device(&live(*this).device); } catch (...) {
  detail::rethrow_as_error();
}

void EventRef::record(const StreamRef& on) const try {
  EventState& event = live(*this);
  StreamState& stream = live(on);
  if (&event.device != &stream.device)
    throw Error(ErrorCode::invalid, "an event of " + event.device.device_name() +
                                        " cannot be recorded on a stream of " + stream.device.device_name() +
                                        "; make the event on the stream's device");
  detail::throw_failure(stream);
  DeviceState& device = stream.device;
  const detail::Submission submission(stream);
  device.call("record an event", [&](weir_status* status) {
    return device.table().event_record(event.event, stream.stream, status);
  });
  event.recorded.store(true, std::memory_order_release);
  stream.note_submission();
} catch (...) {
  detail::rethrow_as_error();
}

bool EventRef::query() const try {
  EventState& event = live(*this);
  if (!event.recorded.load(std::memory_order_acquire)) return true;
  event.device.streams.flush_all();
  return event.device.query(nullptr, "query an event", [&](weir_status* status) {
    return event.device.table().event_query(event.event, status);
  });
} catch (...) {
  detail::rethrow_as_error();
}

void EventRef::synchronize() const try {
  EventState& event = live(*this);
  if (!event.recorded.load(std::memory_order_acquire)) return;
  event.device.streams.flush_all();
  event.device.call("wait for an event", [&](weir_status* status) {
    return event.device.table().event_synchronize(event.event, status);
  });
} catch (...) {
  detail::rethrow_as_error();
}

std::chrono::duration<double, std::nano> TimedEvent::since(const TimedEvent& start) const try {
  EventState& last = live(*this);
  EventState& first = live(start);
  if (&last.device != &first.device)
    throw Error(ErrorCode::invalid, "the time between events of " + first.device.device_name() + " and " +
                                        last.device.device_name() +
                                        " is not defined; use events of one device");
  if (!first.recorded.load(std::memory_order_acquire) || !last.recorded.load(std::memory_order_acquire))
    throw Error(ErrorCode::invalid, "since() needs two recorded events; record both, then synchronize");
  double nanoseconds = 0;
  const bool reached =
      last.device.query(nullptr, "measure the time between two events", [&](weir_status* status) {
        return last.device.table().event_elapsed(first.event, last.event, &nanoseconds, status);
      });
  if (!reached)
    throw Error(ErrorCode::invalid, "since() needs two completed events; synchronize before the call");
  return std::chrono::duration<double, std::nano>(nanoseconds);
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
