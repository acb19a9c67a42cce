// SPDX-License-Identifier: Apache-2.0
#include "isa/code/program.hpp"

#include <algorithm>
#include <cstdlib>

#include "isa/code/assembly_text.hpp"
#include "isa/code/disassembler.hpp"
#include "isa/code/operations.hpp"

namespace weir::hipsim {
namespace {

bool is_branch(std::string_view text) {
  return text.starts_with("s_branch") || text.starts_with("s_cbranch") || text.starts_with("s_call_b64") ||
         text.starts_with("s_subvector_loop");
}

/// The signed distance of a branch in words, the last operand of its text.
std::int64_t branch_distance(std::string_view text) {
  const std::size_t blank = text.find_last_of(" \t");
  const auto raw = parse_integer(text.substr(blank + 1));
  return raw ? std::int16_t(std::uint16_t(*raw)) : 0;
}

}  // namespace

unsigned generation_of(const std::string& architecture) {
  // gfx90a: all but the last two characters are the generation.
  if (architecture.size() < 6 || architecture.compare(0, 3, "gfx") != 0) return 0;
  return unsigned(std::atoi(architecture.substr(3, architecture.size() - 5).c_str()));
}

Program::Program(std::span<const std::uint8_t> code, const std::string& architecture, unsigned lanes)
    : code_(code), architecture_(architecture), lanes_(lanes), starts_(code.size() / 4 + 1, -1) {
  const Disassembler disassembler(architecture, lanes);
  const unsigned generation = generation_of(architecture);
  std::string text;
  std::vector<std::pair<std::uint32_t, std::int64_t>> branches;
  instructions_.reserve(code.size() / 4);
  for (std::size_t at = 0; at + 4 <= code.size();) {
    const std::size_t window = std::min<std::size_t>(code.size() - at, 20);
    const unsigned size = disassembler.instruction(code.subspan(at, window), at, text);
    Instruction instruction;
    if (size == 0) {
      instruction.problem = "is not an instruction of " + architecture;
    } else {
      instruction = decode_text(text, generation, lanes);
      const std::size_t start = text.find_first_not_of(" \t");
      // The text gives this offset as the name of a pattern; the bits are the low half of the first word.
      if (start != text.npos && text.compare(start, 10, "ds_swizzle") == 0)
        instruction.offset = code[at] | code[at + 1] << 8;
      if (start != text.npos && is_branch(std::string_view(text).substr(start)))
        branches.emplace_back(std::uint32_t(instructions_.size()),
                              std::int64_t(at) + 4 + 4 * branch_distance(text));
    }
    instruction.pc = std::uint32_t(at);
    instruction.size = size == 0 ? 4 : size;
    if (!instruction.problem.empty()) instruction.run = find_operation("unknown")->run;
    starts_[at / 4] = std::int32_t(instructions_.size());
    at += instruction.size;
    instructions_.push_back(std::move(instruction));
  }
  for (const auto& [index, target] : branches) {
    const bool inside =
        target >= 0 && std::size_t(target) < code.size() && starts_[std::size_t(target) / 4] >= 0;
    if (inside) {
      instructions_[index].target = std::uint32_t(starts_[std::size_t(target) / 4]);
    } else {
      instructions_[index].problem = "branches to an address without an instruction";
      instructions_[index].run = find_operation("unknown")->run;
    }
  }
  Instruction end;  // executed when a kernel runs past the end of its code
  end.pc = std::uint32_t(code.size() & ~std::size_t(3));
  end.problem = "is after the end of the code";
  end.run = find_operation("unknown")->run;
  instructions_.push_back(std::move(end));
}

std::int64_t Program::index_at(std::uint64_t address) const {
  if (address < base() || address >= base() + code_.size() || (address & 3)) return -1;
  return starts_[(address - base()) / 4];
}

std::string Program::text(std::uint32_t index) const {
  const Instruction& i = instructions_[index];
  std::string text;
  if (i.pc < code_.size()) {
    const Disassembler disassembler(architecture_, lanes_);
    const std::size_t window = std::min<std::size_t>(code_.size() - i.pc, 20);
    disassembler.instruction(code_.subspan(i.pc, window), i.pc, text);
  }
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == text.npos) return "(no instruction)";
  for (char& c : text)
    if (c == '\t') c = ' ';
  return text.substr(start);
}

}  // namespace weir::hipsim
