// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace weir {

/// Creates `folder` and at most `max_missing` missing levels, itself included, with access for this user
/// only. Returns "", or why it is not created. Refuses when another user owns the nearest existing parent: a
/// root shell with that user's HOME would create folders that the user cannot write.
std::string make_private_folder(const std::filesystem::path& folder, int max_missing);

}  // namespace weir
