// SPDX-License-Identifier: Apache-2.0
#include "history.hpp"

#include <algorithm>

namespace weir::validate {
namespace {

// The oldest accesses beyond this number are dropped: races with them are missed, and none is reported
// falsely.
constexpr std::size_t max_accesses = 512;

}  // namespace

Conflict conflict(const Access& a, const Access& b) noexcept {
  if (a.begin >= b.end || b.begin >= a.end) return Conflict::none;
  if (a.how & b.how & WEIR_ACCESS_SHARED) return Conflict::none;
  constexpr std::uint32_t changes = WEIR_ACCESS_WRITE | WEIR_ACCESS_SHARED;
  const bool vague = !a.bounds_known || !b.bounds_known;
  if (a.how != WEIR_ACCESS_UNKNOWN && b.how != WEIR_ACCESS_UNKNOWN) {
    if (!((a.how | b.how) & changes)) return Conflict::none;
    return vague ? Conflict::possible : Conflict::certain;
  }
  // An access of unknown kind conflicts with a plain write for certain; with any other access it may
  // conflict.
  return !vague && ((a.how | b.how) & WEIR_ACCESS_WRITE) ? Conflict::certain : Conflict::possible;
}

void History::add(const Access& access, const Clock& clock, const Clock& host) {
  // A race with an access that an ordered write covers is also a race with that write, so the access can be
  // dropped. Accesses that the host has waited for cannot race.
  std::erase_if(accesses_, [&](const Access& earlier) {
    if (earlier.at <= host.at(earlier.place)) return true;
    const bool inside = access.begin <= earlier.begin && earlier.end <= access.end && access.bounds_known;
    if (!inside || !known(earlier, clock, host)) return false;
    const bool as_much = earlier.place == access.place && (earlier.how & ~access.how) == 0 &&
                         (earlier.how != WEIR_ACCESS_UNKNOWN || access.how == WEIR_ACCESS_UNKNOWN) &&
                         (access.how & WEIR_ACCESS_SHARED) == (earlier.how & WEIR_ACCESS_SHARED);
    const bool plain_write = (access.how & WEIR_ACCESS_WRITE) && !(access.how & WEIR_ACCESS_SHARED);
    return as_much || plain_write;
  });
  if (accesses_.size() == max_accesses) accesses_.erase(accesses_.begin());
  accesses_.push_back(access);
}

const Access* History::unfinished(const Clock& host) const noexcept {
  const auto found = std::ranges::find_if(accesses_, [&](const Access& access) {
    return access.special != Access::Special::birth && access.at > host.at(access.place);
  });
  return found == accesses_.end() ? nullptr : &*found;
}

void Clock::set(std::uint32_t place, Count count) {
  if (place >= counts_.size()) counts_.resize(place + 1);
  counts_[place] = count;
}

void Clock::join(const Clock& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] = std::max(counts_[i], other.counts_[i]);
}

bool Clock::covers(const Clock& other) const noexcept {
  for (std::size_t i = 0; i < other.counts_.size(); ++i)
    if (other.counts_[i] > at(static_cast<std::uint32_t>(i))) return false;
  return true;
}

Places::Place Places::take(const Clock& host) {
  for (auto place = parked_.begin(); place != parked_.end(); ++place) {
    if (host.at(place->number) < place->count) continue;
    const Place taken = *place;
    parked_.erase(place);
    return taken;
  }
  return {next_++, 0};
}

}  // namespace weir::validate
