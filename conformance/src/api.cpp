// SPDX-License-Identifier: Apache-2.0
#include "api.hpp"

#include <cstdlib>

namespace weir::conformance {

Device api_device() {
  if (judged().file.manifest.empty())
    throw Unsupported("the library's folder has no manifest, without which libweir cannot find the driver");
  needs_device();
  return open(judged().file.name + ":" + std::to_string(judged().device));
}

void add_driver_to_search_path() {
  if (judged().file.manifest.empty()) return;
  std::string path = judged().file.manifest.parent_path().string();
  if (const char* given = std::getenv("WEIR_DRIVER_PATH")) path += std::string(":") + given;
  setenv("WEIR_DRIVER_PATH", path.c_str(), 1);
  // No probe process: this process may crash without harm, and the driver under test may change between runs
  // while its file name stays the same.
  setenv("WEIR_PROBE", "off", 1);
}

}  // namespace weir::conformance
