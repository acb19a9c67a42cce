// SPDX-License-Identifier: Apache-2.0
#include "driver/trust/private_folder.hpp"

#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

namespace weir {

namespace fs = std::filesystem;

std::string make_private_folder(const fs::path& folder, int max_missing) {
  fs::path there = folder;
  std::error_code error;
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  struct stat owned {};
  if (stat(there.c_str(), &owned) == 0 && owned.st_uid != 0 && owned.st_uid != geteuid())
    return fmt::format("the folder {} belongs to user {}", there.string(), owned.st_uid);
  if (folder == there) return {};
  const fs::path missing = folder.lexically_relative(there);
  const auto levels = std::distance(missing.begin(), missing.end());
  if (levels > max_missing) {
    fs::path needed = there;
    auto part = missing.begin();
    for (auto i = levels; i > max_missing; --i) needed /= *part++;
    return fmt::format("{} does not exist", needed.string());
  }
  for (const fs::path& part : missing) {
    there /= part;
    if (mkdir(there.c_str(), 0700) != 0 && errno != EEXIST)
      return fmt::format("the folder {} cannot be made: {}", there.string(), strerrordesc_np(errno));
  }
  return {};
}

}  // namespace weir
