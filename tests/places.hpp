// SPDX-License-Identifier: Apache-2.0
// Where tests find what they need: beside themselves, so that they run from an unpacked bundle as well as
// from the build tree. Both have the layout of an install prefix, with the tests in bin/.
#pragma once

#include <filesystem>
#include <string_view>

namespace weir::test {

/// The folder that holds the bin/ of this program.
inline const std::filesystem::path& prefix() {
  static const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  return path;
}

/// Something that was built, by its path in the build tree.
inline std::filesystem::path built(std::string_view path) {
  return prefix() / path;
}

/// A file or folder of the source tree; a bundle carries those that tests read.
inline std::filesystem::path source(std::string_view path) {
  const std::filesystem::path beside = prefix() / path;
  return std::filesystem::exists(beside) ? beside : std::filesystem::path(WEIR_SOURCE_DIR) / path;
}

}  // namespace weir::test
