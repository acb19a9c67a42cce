// SPDX-License-Identifier: Apache-2.0
// Leased streams run the stream blocks of a region concurrently with the caller's stream. Leasing takes a few
// loads and one compare-and-swap. The driver is called only when the pool grows or a leased stream has
// failed.
#include <algorithm>
#include <bit>
#include <exception>

#include "runtime/devices/device_state.hpp"
#include "runtime/streams/stream_manager.hpp"

namespace weir::detail {

std::uint32_t StreamManager::lease_limit() const noexcept {
  return std::clamp(device_.info.recommended_streams, min_leasable, max_leased);
}

std::uint32_t StreamManager::leased() const noexcept {
  const std::uint64_t free = free_leasable_.load(std::memory_order_relaxed);
  const std::uint32_t count = leasable_count_.load(std::memory_order_relaxed);
  return count - std::min<std::uint32_t>(count, static_cast<std::uint32_t>(std::popcount(free)));
}

StreamState* StreamManager::lease(StreamState& caller) {
  std::uint64_t free = free_leasable_.load(std::memory_order_acquire);
  for (;;) {
    int idle = -1, oldest = -1, chosen = -1;
    std::uint64_t oldest_lease = ~std::uint64_t{0};
    for (std::uint64_t rest = free; rest; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      const StreamState& candidate = *leasable_[i].load(std::memory_order_acquire);
      if (candidate.priority == caller.priority) {
        // Work joined into the caller is done when the caller's next region begins, so leasing this stream
        // again adds no delay.
        if (candidate.lease.joined_into.load(std::memory_order_relaxed) == &caller) {
          chosen = i;
          break;
        }
        if (idle < 0 && candidate.known_idle()) idle = i;
      }
      if (const std::uint64_t at = candidate.lease.leased_at.load(std::memory_order_relaxed);
          at < oldest_lease) {
        oldest_lease = at;
        oldest = i;
      }
    }
    if (chosen < 0) chosen = idle;
    if (chosen < 0 && leasable_count_.load(std::memory_order_relaxed) < lease_limit()) {
      if (StreamState* leased = add_leasable_if_possible(caller.priority)) return leased;
    }
    if (chosen < 0 && !waits_for_ranks_.load(std::memory_order_relaxed)) chosen = oldest;
    if (chosen < 0) return nullptr;
    if (free_leasable_.compare_exchange_weak(free, free & ~(std::uint64_t{1} << chosen),
                                             std::memory_order_acq_rel)) {
      StreamState* leased = leasable_[chosen].load(std::memory_order_acquire);
      leased->lease.joined_into.store(nullptr, std::memory_order_release);
      leased->lease.leased_at.store(lease_clock_.fetch_add(1, std::memory_order_relaxed),
                                    std::memory_order_relaxed);
      return leased->lease.failed.load(std::memory_order_relaxed) ? renew(leased) : leased;
    }
  }
}

// Replaces the driver stream of a leased stream that failed. Otherwise a dead stream would fail each region
// that leases it. If no driver stream can be made, the old one stays, and the next call on it reports the
// fault.
StreamState* StreamManager::renew(StreamState* leased) noexcept {
  try {
    StreamState* fresh = make(leased->priority, nullptr);
    fresh->generation.fetch_add(1, std::memory_order_release);
    fresh->lease.leased_at.store(leased->lease.leased_at.load(std::memory_order_relaxed),
                                 std::memory_order_relaxed);
    fresh->lease.slot = leased->lease.slot;
    leasable_[leased->lease.slot].store(fresh, std::memory_order_release);
    leased->generation.fetch_add(1, std::memory_order_release);
    retire(leased);
    return fresh;
  } catch (...) {
    return leased;
  }
}

StreamState* StreamManager::add_leasable_if_possible(int priority) noexcept {
  try {
    return add_leasable(priority);
  } catch (...) {  // fewer leased streams cost time only; the next call reports a device fault
    return nullptr;
  }
}

// Adds a leased stream, already leased to the caller; null when other threads took the last places.
StreamState* StreamManager::add_leasable(int priority) {
  const std::uint32_t limit = lease_limit();
  std::uint32_t place = leasable_count_.load(std::memory_order_relaxed);
  if (place >= limit) return nullptr;
  StreamState* leased = make(priority, nullptr);
  place = leasable_count_.load(std::memory_order_relaxed);
  do {
    if (place >= limit) {
      retire(leased);
      return nullptr;
    }
  } while (!leasable_count_.compare_exchange_weak(place, place + 1, std::memory_order_acq_rel));
  leased->generation.fetch_add(1, std::memory_order_release);
  leased->lease.leased_at.store(lease_clock_.fetch_add(1, std::memory_order_relaxed),
                                std::memory_order_relaxed);
  leased->lease.slot = static_cast<std::int32_t>(place);
  leasable_[place].store(leased, std::memory_order_release);
  return leased;
}

void StreamManager::give_back(StreamState* leased, StreamState* joined_into) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << leased->lease.slot;
  if (joined_into) {
    leased->lease.joined_at.store(joined_into->submitted.load(std::memory_order_acquire),
                                  std::memory_order_release);
    leased->lease.joined_into.store(joined_into, std::memory_order_release);
    // Its own leased streams ran a region inside of this one, whose caller waits for them too.
    if (const std::uint64_t inner = leased->lease.joined_streams.exchange(0, std::memory_order_acq_rel))
      joined_into->lease.joined_streams.fetch_or(inner, std::memory_order_acq_rel);
    if (!(joined_into->lease.joined_streams.load(std::memory_order_relaxed) & bit))
      joined_into->lease.joined_streams.fetch_or(bit, std::memory_order_relaxed);
  } else {
    leased->lease.failed.store(true, std::memory_order_relaxed);
  }
  free_leasable_.fetch_or(bit, std::memory_order_acq_rel);
}

// Failures of leased streams are reported to the caller that forked the work. All leased streams are checked,
// so that each failed one is replaced; the first failure is thrown.
void StreamManager::check_joined_streams(StreamState& stream) {
  std::uint64_t used = stream.lease.joined_streams.exchange(0, std::memory_order_acq_rel);
  std::exception_ptr first;
  for (; used; used &= used - 1) {
    const std::uint64_t bit = used & -used;
    StreamState& leased = *leasable_[std::countr_zero(used)].load(std::memory_order_acquire);
    if (!pin(leased)) continue;  // replaced since: its failure was reported
    try {
      const bool done = device_.query(
          leased.launched_last(), "wait for a block of a region",
          [&](weir_status* status) { return device_.table().stream_query(leased.stream, status); });
      // Of a region that another thread has launched since this wait began, and waits for itself.
      if (!done) stream.lease.joined_streams.fetch_or(bit, std::memory_order_acq_rel);
    } catch (...) {
      leased.lease.failed.store(true, std::memory_order_relaxed);
      if (!first) first = std::current_exception();
    }
    unpin(leased);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace weir::detail
