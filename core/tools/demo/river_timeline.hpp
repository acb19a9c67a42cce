// SPDX-License-Identifier: Apache-2.0
// Converts the runtime's profile to a timeline file.
#pragma once

#include <filesystem>
#include <string>
#include <weir/device.hpp>
#include <weir/profile.hpp>

namespace weir::demo {

/// Writes the tasks timed by `profile`, one row per stream. Throws Error{system} if the file cannot be
/// written.
void write_timeline(const std::filesystem::path& path, const Device& device, const Profile& profile);

}  // namespace weir::demo
