// SPDX-License-Identifier: Apache-2.0
// Parses the text of one AMDGPU instruction, in LLVM's syntax ("Syntax of AMDGPU Instructions" in its user
// guide). The text is the only form of an instruction that is the same for all encodings and generations.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/code/instruction.hpp"

namespace weir::hipsim {

struct AssemblyText {
  std::string mnemonic;               ///< without the encoding's suffix
  std::string encoding;               ///< "e32", "e64", "dpp", "sdwa", "e64_dpp" or empty
  std::vector<std::string> operands;  ///< in the order of the text
  std::vector<std::pair<std::string, std::string>>
      modifiers;  ///< "offset:16" as {"offset", "16"}, "clamp" as {"clamp", ""}
};

/// Splits the text of one instruction (without " :: "). Leading blanks are ignored.
AssemblyText split_assembly(std::string_view text);

/// Parses an operand with its modifiers: a register, a range of registers, a constant, or "off" (no operand).
/// Returns nullopt for invalid text. Does not check whether the generation has FLAT_SCRATCH as a scalar
/// register.
std::optional<Operand> parse_operand(std::string_view text);

/// Parses "[1,0,3]".
std::vector<unsigned> parse_list(std::string_view text);
/// Parses a signed decimal or hexadecimal integer; nullopt for other text.
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace weir::hipsim
