// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace weir::tool {

/// The command line is invalid. `weir` then exits with 2; it exits with 1 if a valid command failed.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weir::tool
