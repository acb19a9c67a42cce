// SPDX-License-Identifier: Apache-2.0
// Runs a program and waits for it.
#pragma once

#include <string>
#include <vector>

namespace weir::test {

/// The built `weir` command, in the folder of the test programs.
std::string tool();

struct ProgramResult {
  int status;  ///< the exit status, or 128 + the signal that ended it
  std::string out, err;
};

/// `environment` is added to that of this process: {"NAME=value"}; "NAME" alone removes a variable.
ProgramResult run_program(const std::vector<std::string>& command,
                          const std::vector<std::string>& environment = {});

}  // namespace weir::test
