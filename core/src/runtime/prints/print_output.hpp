// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace weir::detail {

/// Passes lines without newlines to the function of on_print, or writes them to standard output. Throws
/// std::bad_alloc before the first line.
void output_lines(std::span<const std::string> lines);

}  // namespace weir::detail
