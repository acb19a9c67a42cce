// SPDX-License-Identifier: Apache-2.0
// Lanes: the streams that the blocks of a region run on beside the caller's. Leasing is a few loads and one
// compare-and-swap; the driver is called only when the pool grows or a lane has failed.
#include <algorithm>
#include <bit>
#include <exception>

#include "runtime/device_state.hpp"
#include "runtime/stream_manager.hpp"

namespace weir::detail {

std::uint32_t StreamManager::lane_limit() const noexcept {
  return std::clamp(device_.info.recommended_streams, least_lanes, max_lanes);
}

std::uint32_t StreamManager::leased() const noexcept {
  const std::uint64_t free = free_lanes_.load(std::memory_order_relaxed);
  const std::uint32_t count = lane_count_.load(std::memory_order_relaxed);
  return count - std::min<std::uint32_t>(count, static_cast<std::uint32_t>(std::popcount(free)));
}

StreamState* StreamManager::lease(StreamState& caller) {
  std::uint64_t free = free_lanes_.load(std::memory_order_acquire);
  for (;;) {
    int idle = -1, oldest = -1, chosen = -1;
    std::uint64_t oldest_lease = ~std::uint64_t{0};
    for (std::uint64_t rest = free; rest; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      const StreamState& lane = *lanes_[i].load(std::memory_order_acquire);
      if (lane.priority == caller.priority) {
        // What the caller joined is done when its next region begins, so taking it again delays nothing.
        if (lane.joined_into.load(std::memory_order_relaxed) == &caller) {
          chosen = i;
          break;
        }
        if (idle < 0 && lane.known_idle()) idle = i;
      }
      if (const std::uint64_t at = lane.leased_at.load(std::memory_order_relaxed); at < oldest_lease) {
        oldest_lease = at;
        oldest = i;
      }
    }
    if (chosen < 0) chosen = idle;
    if (chosen < 0 && lane_count_.load(std::memory_order_relaxed) < lane_limit()) {
      if (StreamState* lane = add_lane_if_possible(caller.priority)) return lane;
    }
    if (chosen < 0) chosen = oldest;
    if (chosen < 0) return nullptr;
    if (free_lanes_.compare_exchange_weak(free, free & ~(std::uint64_t{1} << chosen),
                                          std::memory_order_acq_rel)) {
      StreamState* lane = lanes_[chosen].load(std::memory_order_acquire);
      lane->joined_into.store(nullptr, std::memory_order_release);
      lane->leased_at.store(lease_clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
      return lane->doubtful.load(std::memory_order_relaxed) ? renew(lane) : lane;
    }
  }
}

// A lane that is leased gets another driver stream, else one that is dead would fail each region that leases
// it. Without another one to be had it is tried as it is, and what is wrong shows in the next call.
StreamState* StreamManager::renew(StreamState* lane) noexcept {
  try {
    StreamState* fresh = make(lane->priority, nullptr);
    fresh->generation.fetch_add(1, std::memory_order_release);
    fresh->leased_at.store(lane->leased_at.load(std::memory_order_relaxed), std::memory_order_relaxed);
    fresh->lane = lane->lane;
    lanes_[lane->lane].store(fresh, std::memory_order_release);
    lane->generation.fetch_add(1, std::memory_order_release);
    retire(lane);
    return fresh;
  } catch (...) {
    return lane;
  }
}

StreamState* StreamManager::add_lane_if_possible(int priority) noexcept {
  try {
    return add_lane(priority);
  } catch (
      ...) {  // fewer lanes cost time, not the launch; what is wrong with the device shows in the next call
    return nullptr;
  }
}

// A new lane, leased; null when other threads took the last places.
StreamState* StreamManager::add_lane(int priority) {
  const std::uint32_t limit = lane_limit();
  std::uint32_t place = lane_count_.load(std::memory_order_relaxed);
  if (place >= limit) return nullptr;
  StreamState* lane = make(priority, nullptr);
  place = lane_count_.load(std::memory_order_relaxed);
  do {
    if (place >= limit) {
      retire(lane);
      return nullptr;
    }
  } while (!lane_count_.compare_exchange_weak(place, place + 1, std::memory_order_acq_rel));
  lane->generation.fetch_add(1, std::memory_order_release);
  lane->leased_at.store(lease_clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  lane->lane = static_cast<std::int32_t>(place);
  lanes_[place].store(lane, std::memory_order_release);
  return lane;
}

void StreamManager::give_back(StreamState* lane, StreamState* joined_into) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << lane->lane;
  if (joined_into) {
    lane->joined_at.store(joined_into->submitted.load(std::memory_order_acquire), std::memory_order_release);
    lane->joined_into.store(joined_into, std::memory_order_release);
    if (!(joined_into->lanes_used.load(std::memory_order_relaxed) & bit))
      joined_into->lanes_used.fetch_or(bit, std::memory_order_relaxed);
  } else {
    lane->doubtful.store(true, std::memory_order_relaxed);
  }
  free_lanes_.fetch_or(bit, std::memory_order_acq_rel);
}

// Failures of lanes surface at the caller, whose work they were. All lanes are asked, so that each one that
// failed is replaced; the first failure is thrown.
void StreamManager::check_lanes(StreamState& stream) {
  std::uint64_t used = stream.lanes_used.exchange(0, std::memory_order_acq_rel);
  std::exception_ptr first;
  for (; used; used &= used - 1) {
    StreamState& lane = *lanes_[std::countr_zero(used)].load(std::memory_order_acquire);
    if (!pin(lane)) continue;  // replaced meanwhile: its failure was reported
    try {
      device_.query(lane.launched_last(), "wait for a block of a region",
                    [&](weir_status* status) { return device_.table().stream_query(lane.stream, status); });
    } catch (...) {
      lane.doubtful.store(true, std::memory_order_relaxed);
      if (!first) first = std::current_exception();
    }
    unpin(lane);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace weir::detail
