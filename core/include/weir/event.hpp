// SPDX-License-Identifier: Apache-2.0
// Events: marks in streams.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <weir/device.hpp>
#include <weir/export.hpp>

namespace weir {

namespace detail {
struct EventState;
}

/// A view of an event: cheap, copyable, owns nothing. Every function may be called from several threads, and
/// throws Error{invalid} if the event was destroyed. An event may be recorded any number of times. A later
/// mark replaces the earlier one; waits that were submitted before still refer to the earlier one.
class WEIR_API EventRef {
 public:
  /// Submits a mark after the work submitted to `stream` so far. Throws Error{invalid} for a stream of
  /// another device.
  void record(const StreamRef& stream) const;
  /// Whether the last mark was reached; true when never recorded. Does not wait.
  bool query() const;
  /// Waits on the host until the last mark is reached; returns at once when never recorded.
  void synchronize() const;

  Device device() const;
  bool alive() const noexcept;

  detail::EventState* state() const noexcept { return state_; }
  std::uint64_t generation() const noexcept { return generation_; }

 protected:
  EventRef() = default;
  EventRef(detail::EventState* state, std::uint64_t generation) noexcept
      : state_(state), generation_(generation) {}

  detail::EventState* state_ = nullptr;
  std::uint64_t generation_ = 0;
};

/// An event that goes back to the device's pool when it is destroyed, at any time, without waiting.
/// A moved-from or default-made Event is not alive.
class WEIR_API Event : public EventRef {
 public:
  Event() = default;
  Event(Event&& other) noexcept : EventRef(std::exchange(other.state_, nullptr), other.generation_) {}
  Event& operator=(Event&& other) noexcept {
    Event taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(generation_, taken.generation_);
    return *this;
  }
  ~Event();

 private:
  friend class Device;
  friend class TimedEvent;
  Event(detail::EventState* state, std::uint64_t generation) noexcept : EventRef(state, generation) {}
};

/// An event that also records the time at which it was reached.
class WEIR_API TimedEvent : public Event {
 public:
  TimedEvent() = default;

  /// Time from `start` to this event. Never waits: throws Error{invalid} if one was not recorded or not
  /// reached yet, or if they are of two devices.
  std::chrono::duration<double, std::nano> since(const TimedEvent& start) const;

 private:
  friend class Device;
  TimedEvent(detail::EventState* state, std::uint64_t generation) noexcept : Event(state, generation) {}
};

}  // namespace weir
