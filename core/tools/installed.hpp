// SPDX-License-Identifier: Apache-2.0
// Files that are installed with the `weir` command.
#pragma once

#include <filesystem>

namespace weir::tool {

/// The installation prefix of this program, valid after the tree has been moved.
inline std::filesystem::path installation_prefix() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}

/// The folder of the installed documentation; exists only if the SDK is installed.
inline std::filesystem::path documentation_folder() {
  return installation_prefix() / WEIR_DATADIR "/doc/weir/docs";
}

}  // namespace weir::tool
