// SPDX-License-Identifier: Apache-2.0
// The accesses to a piece of memory that the host has not yet waited for, ordered by vector clocks.
//
// Each stream has an entry in the clocks, which counts the stream's submissions. A record copies the stream's
// clock into the event; a wait joins the event's clock into the stream's; the host joins the clocks of
// completed waits. All host threads count as one, because their synchronisation cannot be observed. That
// misses races between threads that do not synchronise, and reports no false ones.
#pragma once

#include <weir/layer.h>

#include <cstdint>
#include <memory>
#include <string>
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

/// The source of an access, for messages.
struct Actor {
  std::string what;    ///< "kernel 'step' (river.cpp:12)", "copy_to_host"
  std::string array;   ///< its name for the memory, or ""
  std::string kernel;  ///< the kernel's name alone, or ""
};

/// Of each `pitch` bytes of an allocation, the `width` bytes from `first` on; all bytes if the pitch is 0.
/// They may go on in the next pitch.
struct Window {
  std::uint64_t pitch = 0, first = 0, width = 0;
};

struct Access {
  enum class Special : std::uint8_t { none, birth, end };
  std::uint64_t begin = 0, end = 0;  ///< bytes of the allocation
  Window window;                     ///< of these bytes
  std::uint32_t how = 0;             ///< enum weir_access
  Special special = Special::none;   ///< for memory that a stream allocates or frees
  bool bounds_known = true;
  std::uint32_t place = 0;  ///< the stream's clock entry
  Count at = 0;
  std::uint64_t stream = 0;  ///< the stream's number, for messages
  std::shared_ptr<const Actor> actor;
};

/// The certainty that two accesses of the same bytes must not run at once.
enum class Conflict : std::uint8_t { none, possible, certain };
Conflict conflict(const Access& a, const Access& b) noexcept;

class History {
 public:
  /// Calls `found(earlier, how_sure)` for each earlier access that conflicts with `access` and precedes it
  /// neither in `clock` nor in `host`.
  template <class Found>
  void check(const Access& access, const Clock& clock, const Clock& host, Found&& found) const {
    for (const Access& earlier : accesses_) {
      const Conflict sure = conflict(earlier, access);
      if (sure != Conflict::none && !known(earlier, clock, host)) found(earlier, sure);
    }
  }
  void add(const Access& access, const Clock& clock, const Clock& host);
  /// The first access, other than an allocation, that the host has not waited for; null if there is none.
  const Access* unfinished(const Clock& host) const noexcept;
  void clear() noexcept { accesses_.clear(); }

 private:
  static bool known(const Access& access, const Clock& clock, const Clock& host) noexcept {
    return access.at <= clock.at(access.place) || access.at <= host.at(access.place);
  }
  std::vector<Access> accesses_;
};

}  // namespace weir::validate
