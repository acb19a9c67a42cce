// SPDX-License-Identifier: Apache-2.0
// The formats of prints: a subset of {fmt}, checked when a kernel is built.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/types.hpp>

namespace weir::ir {

/// A part of a format: literal text, or the place of a value.
struct PrintPiece {
  bool is_value = false;
  std::string text;  ///< the literal text without doubled braces, or the value's specification: "08.3f"
};

struct PrintFormat {
  std::vector<PrintPiece> pieces;
  std::string problem;  ///< why the text is not a format, or ""

  std::size_t values() const noexcept;
};

PrintFormat parse_print_format(std::string_view text);

/// The specification as {fmt} 9 must read it to write what std::format writes for a value of `type`: no
/// padding by zeros next to an alignment, and infinities and NaN aligned as other numbers are.
std::string specification_of(const std::string& text, ScalarType type);

/// A format that parses to these pieces.
std::string print_format_text(std::span<const PrintPiece> pieces);

/// Why a print of values of these types with that format is wrong, or "".
std::string check_print(std::string_view format, std::span<const ScalarType> types);

}  // namespace weir::ir
