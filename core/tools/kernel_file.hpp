// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weir/program.hpp>

#include <string>

namespace weir::tool {

/// Reads a kernel in IR text form; "-" is standard input. Throws Error{system} if the file cannot be read,
/// and Error{parse} with file, line and column if its text is invalid.
Program read_kernel(const std::string& file);

}  // namespace weir::tool
