// SPDX-License-Identifier: Apache-2.0
#include "runtime/streams/event_pool.hpp"

#include <utility>

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

EventState* EventPool::acquire(bool timed) {
  device_.check_not_forked();
  EventState* state = nullptr;
  bool fresh = false;
  {
    std::lock_guard lock(mutex_);
    if (!ready_[timed].empty()) {
      state = ready_[timed].back();
      ready_[timed].pop_back();
    } else if (empty_) {
      state = std::exchange(empty_, empty_->next);
      fresh = true;
    } else {
      state = &states_.emplace_back(device_);
      fresh = true;
    }
  }
  if (fresh) {
    weir_event event = nullptr;
    try {
      const weir_device device = device_.handle();
      device_.call("create an event", [&](weir_status* status) {
        return device_.table().event_create(device, timed ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN, &event,
                                            status);
      });
    } catch (...) {
      std::lock_guard lock(mutex_);
      state->next = std::exchange(empty_, state);
      throw;
    }
    state->event = event;
    state->timed = timed;
    created_.fetch_add(1, std::memory_order_relaxed);
  }
  state->shares.store(1, std::memory_order_relaxed);
  state->recorded.store(false, std::memory_order_relaxed);
  state->generation.fetch_add(1, std::memory_order_release);
  return state;
}

void EventPool::release(EventState* event) noexcept {
  if (event->shares.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  event->generation.fetch_add(1, std::memory_order_release);
  if (device_.forked()) return;
  {
    std::lock_guard lock(mutex_);
    if (ready_[event->timed].size() < kept) {
      ready_[event->timed].push_back(event);
      return;
    }
  }
  destroy(event);
}

void EventPool::destroy(EventState* event) noexcept {
  if (!process_is_exiting())
    device_.call_no_throw(
        [&](weir_status* status) { return device_.table().event_destroy(event->event, status); });
  event->event = nullptr;
  created_.fetch_sub(1, std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  event->next = std::exchange(empty_, event);
}

void EventPool::trim() noexcept {
  for (auto& list : ready_)
    for (;;) {
      EventState* event = nullptr;
      {
        std::lock_guard lock(mutex_);
        if (list.empty()) break;
        event = list.back();
        list.pop_back();
      }
      destroy(event);
    }
}

}  // namespace weir::detail
