// SPDX-License-Identifier: Apache-2.0
// Events of a vendor's runtime. Plain events carry no time and cost less.
#pragma once

#include "device.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Event : EventObject<Device<V>> {
  using EventObject<Device<V>>::device;
  void* native = nullptr;

  /// Does not wait; waits already submitted on the event stay in effect.
  void destroy() noexcept {
    {
      Current<V> current(*device, std::nothrow);
      V::calls().event_destroy(native);
    }
    Pool<Event>::of().give(*this);
  }

  bool query() {
    Current<V> current(*device);
    const Code code = V::calls().event_query(native);
    if (code == not_ready) return false;
    device->check(code, "reach the event");
    return true;
  }

  void synchronize() {
    Current<V> current(*device);
    device->check(V::calls().event_synchronize(native), "reach the event");
  }

  double elapsed(Event& end) {
    Current<V> current(*device);
    float milliseconds = 0;
    device->check(V::calls().event_elapsed(&milliseconds, native, end.native), "measure between two events");
    return double{milliseconds} * 1e6;
  }
};

template <class V>
Event<V>& Device<V>::create_event(bool timed) {
  Current<V> current(*this);
  Fresh<Event<V>> event;
  event->device = this;
  event->timed = timed;
  check(V::calls().event_create(&event->native, timed ? 0 : event_disable_timing), "create an event");
  return event.publish();
}

}  // namespace weir::sdk::vendor
