// SPDX-License-Identifier: Apache-2.0
// Reads the text of one AMDGPU instruction, in the syntax that LLVM documents ("Syntax of AMDGPU
// Instructions" in its user guide). The text is the one form of an instruction that means the same in all
// encodings and generations.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/instruction.hpp"

namespace weir::hipsim {

struct AssemblyText {
  std::string mnemonic;               ///< without the suffix that names the encoding
  std::string encoding;               ///< "e32", "e64", "dpp", "sdwa", "e64_dpp" or empty
  std::vector<std::string> operands;  ///< in the order of the text
  std::vector<std::pair<std::string, std::string>>
      modifiers;  ///< "offset:16" as {"offset", "16"}, "clamp" as {"clamp", ""}
};

/// Splits one instruction (no " :: " in it). Leading blanks are ignored.
AssemblyText split_assembly(std::string_view text);

/// An operand by its text: a register, a range of them, a constant, "off" (no operand), with its modifiers.
/// Empty if it cannot be understood. Whether FLAT_SCRATCH is a scalar register depends on the generation and
/// is not judged.
std::optional<Operand> parse_operand(std::string_view text);

/// "[1,0,3]" as numbers.
std::vector<unsigned> parse_list(std::string_view text);
/// A decimal or hexadecimal integer, signed; empty if it is none.
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace weir::hipsim
