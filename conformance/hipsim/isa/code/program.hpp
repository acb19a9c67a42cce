// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isa/code/instruction.hpp"

namespace weir::hipsim {

/// A code section, decoded once for one architecture and wave size. Immutable; any thread may read it.
class Program {
 public:
  /// `code` must outlive the program. Invalid bytes decode to an instruction that reports a fault when
  /// executed.
  Program(std::span<const std::uint8_t> code, const std::string& architecture, unsigned lanes);

  const std::vector<Instruction>& instructions() const { return instructions_; }
  std::uint64_t base() const { return std::uint64_t(reinterpret_cast<std::uintptr_t>(code_.data())); }
  /// The index of the instruction at an address; -1 if none begins there.
  std::int64_t index_at(std::uint64_t address) const;
  std::uint64_t address_of(std::uint32_t index) const { return base() + instructions_[index].pc; }
  /// The instruction as text, for messages.
  std::string text(std::uint32_t index) const;
  const std::string& architecture() const { return architecture_; }

 private:
  std::span<const std::uint8_t> code_;
  std::string architecture_;
  unsigned lanes_;
  std::vector<Instruction> instructions_;
  std::vector<std::int32_t> starts_;  // by 4-byte word: the index of the instruction that begins there, or -1
};

/// The generation of an architecture: 9 for gfx90a, 11 for gfx1100.
unsigned generation_of(const std::string& architecture);

/// Decodes the text of one instruction. Its `problem` describes text that cannot be decoded. Program sets
/// branch targets.
Instruction decode_text(std::string_view text, unsigned generation, unsigned lanes);

}  // namespace weir::hipsim
