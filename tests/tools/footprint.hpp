// SPDX-License-Identifier: Apache-2.0
// The memory maps and peak memory of a program, read from /proc when it exits and all its mappings still
// exist.
#pragma once

#include <string>
#include <vector>

namespace weir::test {

struct Footprint {
  bool measured = false;  ///< false if this system does not let a process trace its child
  std::string maps;       ///< /proc/PID/maps
  long peak_kib = 0;      ///< peak resident memory
};

/// Runs a program until it exits, and discards its output. `environment` is added to that of this process:
/// {"NAME=value"}.
Footprint footprint_of(const std::vector<std::string>& command,
                       const std::vector<std::string>& environment = {});

}  // namespace weir::test
