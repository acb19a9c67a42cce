// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weir::hipsim {

/// LLVM's disassembler for one AMDGPU architecture. Not thread-safe.
class Disassembler {
 public:
  /// `architecture` has the form "gfx90a"; waves have `lanes` (32 or 64) lanes. Throws std::runtime_error if
  /// LLVM does not support the architecture.
  Disassembler(const std::string& architecture, unsigned lanes);
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  /// Stores the text of the instruction at the start of `bytes` and returns its size in bytes; 0 for invalid
  /// bytes.
  unsigned instruction(std::span<const std::uint8_t> bytes, std::uint64_t address, std::string& text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::hipsim
