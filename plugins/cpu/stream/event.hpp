// SPDX-License-Identifier: Apache-2.0
// An event names a mark of a stream. A wait refers to the mark, so that recording or destroying the event
// later does not affect it.
#pragma once

#include <oneapi/tbb/spin_mutex.h>

#include <mutex>

#include "device.hpp"

namespace weir::cpu {

struct Stream;

struct Event : Object {
  static constexpr Kind object_kind = Kind::event;

  Device* device = nullptr;
  bool timed = false;
  std::atomic<std::uint32_t> references{0};  ///< the handle and queued stamps

  tbb::spin_mutex mutex;     ///< guards the members below
  Stream* stream = nullptr;  ///< one reference; null when never recorded
  std::uint64_t mark = 0;
  std::uint64_t generation = 0;  ///< counts recordings
  std::uint64_t stamped = 0;     ///< the generation that `nanoseconds` belongs to
  std::int64_t nanoseconds = 0;

  void drop_reference() noexcept;
};

/// Stores the time of the recording `generation`, unless the event has been recorded again since.
void stamp_event(Event& event, std::uint64_t generation) noexcept;

}  // namespace weir::cpu
