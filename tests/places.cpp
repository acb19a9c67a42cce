// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

namespace weir::test {

const std::filesystem::path& prefix() {
  static const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  return path;
}

std::filesystem::path built(std::string_view path) {
  return prefix() / path;
}

std::filesystem::path source(std::string_view path) {
  const std::filesystem::path bundled = prefix() / path;
  return std::filesystem::exists(bundled) ? bundled : std::filesystem::path(WEIR_SOURCE_DIR) / path;
}

}  // namespace weir::test
