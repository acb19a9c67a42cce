// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/code/program.hpp"
#include "isa/numbers/numbers.hpp"
#include "isa/state/workgroup.hpp"

namespace weir::hipsim::test {

/// One wave that runs snippets of assembly.
class Machine {
 public:
  /// Waves have 64 lanes before GFX10 and 32 from GFX10 on, unless `lanes` overrides this.
  explicit Machine(const std::string& architecture, unsigned lanes = 0);

  /// Runs the text to its end (an s_endpgm is added). Throws Fault, as instructions do.
  void run(const std::string& text);
  /// Stores a text for `step`, which runs one of its instructions, counted from 0.
  void load(const std::string& text);
  void step(std::uint32_t index);

  std::uint32_t& v(unsigned index, unsigned lane = 0) { return registers_[index].lanes[lane]; }
  std::uint32_t& s(unsigned index) { return wave.s[index]; }
  void set_v(unsigned index, std::uint32_t value);
  void set_f(unsigned index, float value) { set_v(index, std::bit_cast<std::uint32_t>(value)); }
  void set_v64(unsigned index, std::uint64_t value);
  void set_d(unsigned index, double value) { set_v64(index, std::bit_cast<std::uint64_t>(value)); }
  float f(unsigned index, unsigned lane = 0) { return std::bit_cast<float>(v(index, lane)); }
  std::uint64_t v64(unsigned index, unsigned lane = 0) {
    return v(index, lane) | std::uint64_t(v(index + 1, lane)) << 32;
  }
  double d(unsigned index, unsigned lane = 0) { return std::bit_cast<double>(v64(index, lane)); }
  std::uint64_t s64(unsigned index) const { return wave.mask_at(index); }
  void set_exec(std::uint64_t mask) { wave.set64(slot::exec, mask); }
  /// Allocates a block of memory that the wave may access; returns its address.
  std::uint64_t memory(std::uint64_t bytes);

  Wave wave;
  Workgroup group;
  std::vector<std::uint8_t> lds, scratch;

 private:
  struct alignas(64) Line {
    Wave::Row lanes;
  };
  void execute_next();
  std::string architecture_;
  std::vector<std::uint8_t> code_;
  std::unique_ptr<Program> program_;
  std::vector<Line> registers_;
  MemoryTable table_{0};
  MemoryView view_{table_};
};

/// The architectures that every test covers.
inline constexpr const char* architectures[] = {"gfx90a", "gfx942", "gfx1100"};

}  // namespace weir::hipsim::test
