// SPDX-License-Identifier: Apache-2.0
// An event names a mark of a stream. Waits are submitted against the mark, so that recording again or destroying
// the event leaves them alone.
#pragma once

#include <mutex>

#include <oneapi/tbb/spin_mutex.h>

#include "device.hpp"

namespace weir::cpu {

struct Stream;

struct Event : Object {
  static constexpr Kind object_kind = Kind::event;

  Device* device = nullptr;
  bool timed = false;
  std::atomic<std::uint32_t> references{0};  ///< handle, stamps that are queued

  tbb::spin_mutex mutex;           ///< guards from here
  Stream* stream = nullptr;        ///< one reference; null when never recorded
  std::uint64_t mark = 0;
  std::uint64_t generation = 0;    ///< counts recordings
  std::uint64_t stamped = 0;       ///< the generation that `nanoseconds` belongs to
  std::int64_t nanoseconds = 0;

  void drop_reference() noexcept;
};

/// Notes the time for the recording `generation`, unless the event was recorded again since.
void stamp_event(Event& event, std::uint64_t generation) noexcept;

}  // namespace weir::cpu
