// SPDX-License-Identifier: Apache-2.0
// What a program takes of memory, read from /proc at the moment it exits, when everything it used is still
// mapped.
#pragma once

#include <string>
#include <vector>

namespace weir::test {

struct Footprint {
  bool measured = false;  ///< false when this system does not let a process trace its child
  std::string maps;       ///< /proc/PID/maps
  long peak_kib = 0;      ///< resident memory at its highest
};

/// Runs a program, whose output is thrown away, to its end. `environment` is added to this process's own:
/// {"NAME=value"}.
Footprint footprint_of(const std::vector<std::string>& command,
                       const std::vector<std::string>& environment = {});

}  // namespace weir::test
