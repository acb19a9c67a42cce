// SPDX-License-Identifier: Apache-2.0
// A timeline in Chrome's trace format: opens in chrome://tracing and https://ui.perfetto.dev.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <string>

namespace weir::demo {

/// One task that ran on a stream.
struct TimelineTask {
  std::string name;
  std::string kernel;
  std::uint64_t stream = 0;  ///< row in the timeline
  double start = 0;          ///< nanoseconds since the first task
  double duration = 0;       ///< nanoseconds
  std::int32_t region = -1;  ///< stream_parallel region of its kernel, -1 if none
  std::int32_t block = -1;   ///< block of the region
};

/// Writes complete events ("ph": "X") with one row per stream, and names for the rows.
void write_timeline(std::ostream& out, std::string_view process, std::span<const TimelineTask> tasks);

/// Writes the same to a file. Throws Error{system} if it cannot be written.
void write_timeline(const std::filesystem::path& path, std::string_view process,
                    std::span<const TimelineTask> tasks);

}  // namespace weir::demo
