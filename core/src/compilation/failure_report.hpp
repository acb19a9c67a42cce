// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/ir.hpp"

namespace weir::compilation {

/// Writes the text form of `kernel` to a new file in the temporary folder, which only this user may read, and
/// returns its path; "" when that fails.
std::string keep_for_report(const ir::Kernel& kernel);

}  // namespace weir::compilation
