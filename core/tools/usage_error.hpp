// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace weir::tool {

/// The words of the command line are wrong. `weir` ends with 2 then, and with 1 when what they ask for failed.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weir::tool
