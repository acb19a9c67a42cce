// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weir/program.hpp>

#include <string>

namespace weir::tool {

/// Reads a kernel in IR text form; "-" is standard input. Throws Error{system} when the file cannot be read,
/// Error{parse} with file, line and column when it cannot be understood.
Program read_kernel(const std::string& file);

}  // namespace weir::tool
