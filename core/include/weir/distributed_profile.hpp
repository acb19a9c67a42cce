// SPDX-License-Identifier: Apache-2.0
// Profiles of several ranks in one trace. Not part of <weir/weir.hpp>.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <weir/communicator.hpp>
#include <weir/profile.hpp>

namespace weir {

/// Collective, and waits on the host: rank 0 writes the times of all ranks to one file in Chrome's trace
/// format, replacing its contents. Each rank has a group of rows, one per stream, named "rank 2: TITLE".
/// `times` are Profile::results() of the calling rank. They count from the rank's first task, so call
/// barrier() before the profiles to align the groups. The times are sent to rank 0 on `stream`. Throws
/// Error{system} on rank 0 if the file cannot be written; this ends the group on all ranks.
WEIR_API void write_trace(const Communicator& world, const StreamRef& stream,
                          const std::filesystem::path& path, std::span<const TaskTime> times,
                          std::string_view title);

}  // namespace weir
