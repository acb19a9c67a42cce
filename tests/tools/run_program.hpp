// SPDX-License-Identifier: Apache-2.0
// Runs a program and waits for it.
#pragma once

#include <string>
#include <vector>

namespace weir::test {

/// The `weir` command that lies beside the tests.
std::string tool();

struct ProgramResult {
  int status;  ///< the exit status, or 128 + the signal that ended it
  std::string out, err;
};

/// `environment` is added to this process's own: {"NAME=value"}; "NAME" alone removes it.
ProgramResult run_program(const std::vector<std::string>& command,
                          const std::vector<std::string>& environment = {});

}  // namespace weir::test
