// SPDX-License-Identifier: Apache-2.0
// Vector clocks. Each stream has an entry, which counts the stream's submissions. A record copies the
// stream's clock into the event; a wait joins the event's clock into the stream's; the host joins the clocks
// of completed waits. All host threads count as one, because their synchronisation cannot be observed. That
// misses races between threads that do not synchronise, and reports no false ones.
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
  /// Whether this clock includes all work that `other` includes.
  bool covers(const Clock& other) const noexcept;

 private:
  std::vector<Count> counts_;
};

/// Assigns clock entries to streams. The entry of a destroyed stream is reused only after the host has
/// observed the end of all its work, so each count of an entry has one meaning.
class Places {
 public:
  struct Place {
    std::uint32_t number;
    Count count;  ///< where the next owner continues to count
  };
  Place take(const Clock& host);
  void give(std::uint32_t number, Count count) { parked_.push_back({number, count}); }

 private:
  std::uint32_t next_ = 0;
  std::vector<Place> parked_;
};

}  // namespace weir::validate
