// SPDX-License-Identifier: Apache-2.0
// A device's events: handed out for user events and for the memory pool's marks, and kept for reuse.
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

/// What stands behind an event handle; never freed, see StreamState.
struct EventState {
  explicit EventState(DeviceState& device_) : device(device_) {}
  DeviceState& device;
  std::atomic<std::uint64_t> generation{0};  ///< odd while in use
  weir_event event = nullptr;
  bool timed = false;
  std::atomic<std::uint32_t> shares{0};  ///< holders inside the runtime; each calls EventPool::release once
  std::atomic<bool> recorded{
      false};  ///< since it was handed out; pooled events carry older marks that must not count
  EventState* next = nullptr;  ///< among the states without a driver event
};

class EventPool {
 public:
  explicit EventPool(DeviceState& device) : device_(device) {
    for (auto& list : ready_) list.reserve(kept);  // so that giving an event back cannot fail
  }

  /// A plain or timed event that counts as never recorded.
  EventState* acquire(bool timed);
  /// One more share of an event in use.
  static EventState* share(EventState* event) noexcept {
    event->shares.fetch_add(1, std::memory_order_relaxed);
    return event;
  }
  /// Gives up one share; the last one hands the event back. Waits that were submitted on it still hold.
  void release(EventState* event) noexcept;
  /// Destroys the events that are kept for reuse.
  void trim() noexcept;
  std::uint32_t created() const noexcept { return created_.load(std::memory_order_relaxed); }

  static constexpr std::size_t kept = 256;  ///< events of each kind that are kept at most

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
