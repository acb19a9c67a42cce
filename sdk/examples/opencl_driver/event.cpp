// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "driver.hpp"

namespace opencl {
namespace {

constexpr const char* reaching = "reach the event";

double end_of(const Owned<cl_event>& event) {
  cl_ulong nanoseconds = 0;
  check(api.clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_END, sizeof nanoseconds, &nanoseconds,
                                    nullptr),
        "read the time of an event");
  return static_cast<double>(nanoseconds);
}

}  // namespace

Event& Device::create_event(bool timed) {
  sdk::Fresh<Event> event;
  event->device = this;
  event->timed = timed;
  return event.publish();
}

void Event::destroy() noexcept {
  set_mark({});
  sdk::Pool<Event>::of().give(*this);
}

Owned<cl_event> Event::mark() {
  std::lock_guard lock(mutex_);
  return share(mark_);
}

void Event::set_mark(Owned<cl_event> mark) noexcept {
  std::lock_guard lock(mutex_);
  mark_ = std::move(mark);  // the earlier mark is released with the parameter
}

bool Event::query() {
  const Owned<cl_event> at = mark();
  return !at || is_reached(at.get(), reaching);
}

void Event::synchronize() {
  if (const Owned<cl_event> at = mark()) check(outcome_of(at.get()), reaching);
}

double Event::elapsed(Event& end) {
  const Owned<cl_event> from = mark(), to = end.mark();
  if (!from || !to) sdk::fail(WEIR_ERROR_INVALID, "%s was never recorded", from ? "end" : "start");
  // Another thread may have recorded one again since both were found to be reached.
  if (!is_reached(from.get(), reaching) || !is_reached(to.get(), reaching))
    return std::numeric_limits<double>::quiet_NaN();
  return end_of(to) - end_of(from);
}

}  // namespace opencl
