// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

namespace weir::vulkan {

Event& Device::create_event(bool timed) {
  check_present();
  sdk::Fresh<Event> event;
  event->device = this;
  event->timed = timed;
  return event.publish();
}

void Event::destroy() noexcept {
  set_mark({}, nullptr);
  sdk::Pool<Event>::of().give(*this);
}

Mark Event::mark() {
  std::lock_guard lock(mutex_);
  return mark_;
}

std::shared_ptr<Timestamp> Event::time() {
  std::lock_guard lock(mutex_);
  return time_;
}

void Event::set_mark(Mark mark, std::shared_ptr<Timestamp> time) noexcept {
  // The old values are released after the mutex.
  std::lock_guard lock(mutex_);
  std::swap(mark_, mark);
  std::swap(time_, time);
}

bool Event::query() {
  const Mark now = mark();
  if (now.is_complete()) return true;
  device->check_present();
  return false;
}

void Event::synchronize() {
  const Mark now = mark();
  if (!now.is_complete()) device->scheduler.wait(now);
}

double Event::elapsed(Event& end) {
  const std::shared_ptr<Timestamp> from = time(), to = end.time();
  if (!from || !to)
    sdk::fail(WEIR_ERROR_INVALID, "an event has no time; expected timed events, both recorded");
  return device->timestamps.between(*from, *to);
}

}  // namespace weir::vulkan
