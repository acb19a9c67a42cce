// SPDX-License-Identifier: Apache-2.0
#include "clocks.hpp"

#include <algorithm>

namespace weir::validate {

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
