// SPDX-License-Identifier: Apache-2.0
// Pool of a device's events: used for user events and for the memory pool's events, and kept for reuse.
#pragma once

#include <weir/driver.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace weir::detail {

struct DeviceState;

/// State of an event handle. Never freed, see StreamState.
struct EventState {
  explicit EventState(DeviceState& device_) : device(device_) {}
  DeviceState& device;
  std::atomic<std::uint64_t> generation{0};  ///< odd while in use
  weir_event event = nullptr;
  bool timed = false;
  std::atomic<std::uint32_t> shares{0};  ///< holders inside the runtime; each calls EventPool::release once
  std::atomic<bool> recorded{false};     ///< cleared by acquire, so recordings by earlier owners do not count
  EventState* next = nullptr;            ///< link in the list of states without a driver event
};

class EventPool {
 public:
  explicit EventPool(DeviceState& device) : device_(device) {
    for (auto& list : ready_) list.reserve(kept);  // so that returning an event cannot fail
  }

  /// Returns a plain or timed event that counts as never recorded.
  EventState* acquire(bool timed);
  /// Adds one share to an event in use.
  static EventState* share(EventState* event) noexcept {
    event->shares.fetch_add(1, std::memory_order_relaxed);
    return event;
  }
  /// Gives up one share; the last release returns the event to the pool. Waits already submitted on it stay
  /// valid.
  void release(EventState* event) noexcept;
  /// Destroys the events that are kept for reuse.
  void trim() noexcept;
  std::uint32_t created() const noexcept { return created_.load(std::memory_order_relaxed); }

  static constexpr std::size_t kept = 256;  ///< upper bound on the events kept, per kind

 private:
  void destroy(EventState* event) noexcept;

  DeviceState& device_;
  std::mutex mutex_;  // guards the lists only
  std::deque<EventState> states_;
  std::array<std::vector<EventState*>, 2> ready_;  // by `timed`
  EventState* empty_ = nullptr;                    // states without a driver event
  std::atomic<std::uint32_t> created_{0};
};

}  // namespace weir::detail
