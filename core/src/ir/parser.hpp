// SPDX-License-Identifier: Apache-2.0
// Reads the text form of kernels; its grammar is in sdk/docs/ir.md.
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/ir.hpp"

namespace weir::ir {

inline constexpr std::size_t max_text_bytes = std::size_t{16} << 20;

/// Reads one kernel. `file` names the text in messages. When the text declares no source files, each
/// statement's location is its position in the text. The result is well formed but not verified. Throws
/// Error{parse}: "FILE:LINE:COLUMN: expected ..., found ...".
Kernel parse(std::string_view text, std::string_view file = "<text>");

}  // namespace weir::ir
