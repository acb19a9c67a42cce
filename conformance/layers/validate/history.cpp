// SPDX-License-Identifier: Apache-2.0
#include "history.hpp"

#include <algorithm>

namespace weir::validate {
namespace {

// The oldest accesses beyond this number are dropped: races with them are missed, and none is reported
// falsely.
constexpr std::size_t max_accesses = 512;

/// The window of an access in rows of `pitch` bytes. The bytes of an access without a window may all be in
/// one.
Window window_of(const Access& access, std::uint64_t pitch) noexcept {
  if (access.window.pitch == 0 && access.end - access.begin <= pitch)
    return {pitch, access.begin % pitch, access.end - access.begin};
  return access.window;
}

/// The distance from the begin of `from` to that of `to`, in the direction of larger addresses.
std::uint64_t distance(const Window& from, const Window& to) noexcept {
  return (to.first + from.pitch - from.first) % from.pitch;
}

/// False also if the windows cannot be compared.
bool are_apart(const Access& a, const Access& b) noexcept {
  const std::uint64_t pitch = std::max(a.window.pitch, b.window.pitch);
  if (pitch == 0) return false;
  const Window one = window_of(a, pitch), other = window_of(b, pitch);
  return one.pitch == other.pitch && one.width <= distance(one, other) && other.width <= distance(other, one);
}

bool covers_window(const Access& access, const Access& earlier) noexcept {
  const std::uint64_t pitch = access.window.pitch;
  if (pitch == 0) return true;
  const Window inner = window_of(earlier, pitch);
  return inner.pitch == pitch && distance(access.window, inner) + inner.width <= access.window.width;
}

}  // namespace

Conflict conflict(const Access& a, const Access& b) noexcept {
  if (a.begin >= b.end || b.begin >= a.end || are_apart(a, b)) return Conflict::none;
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
    const bool inside = access.begin <= earlier.begin && earlier.end <= access.end && access.bounds_known &&
                        covers_window(access, earlier);
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
