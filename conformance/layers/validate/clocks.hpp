// SPDX-License-Identifier: Apache-2.0
// Vector clocks: who knows of how much of whose work. Each stream has a place and counts what is submitted to
// it; an event carries the clock of the stream at its record, a wait takes it over, and the host takes over
// what it waits for. All host threads count as one, because what they tell one another cannot be seen: that
// loses races between threads that do not, and invents none.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::validate {

using Count = std::uint64_t;

class Clock {
 public:
  Count at(std::uint32_t place) const noexcept { return place < counts_.size() ? counts_[place] : 0; }
  void set(std::uint32_t place, Count count);
  void join(const Clock& other);
  /// Whether everything that `other` knows of is known here.
  bool covers(const Clock& other) const noexcept;

 private:
  std::vector<Count> counts_;
};

/// Gives places to streams. The place of a stream that is gone passes on to another one only when the host
/// knows that all its work is done, so that counts of a place never mean two things.
class Places {
 public:
  struct Place {
    std::uint32_t number;
    Count count;  ///< where its owner goes on counting
  };
  Place take(const Clock& host);
  void give(std::uint32_t number, Count count) { parked_.push_back({number, count}); }

 private:
  std::uint32_t next_ = 0;
  std::vector<Place> parked_;
};

}  // namespace weir::validate
