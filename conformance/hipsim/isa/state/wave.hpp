// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>

#include "isa/code/instruction.hpp"

namespace weir::hipsim {

struct Workgroup;
class Program;

/// The MODE register, laid out as in AMD's "Instruction Set Architecture" documents.
namespace mode {
inline constexpr std::uint32_t round_single = 3u, round_double = 3u << 2, denormal_single = 3u << 4,
                               denormal_double = 3u << 6, dx10_clamp = 1u << 8, ieee = 1u << 9;
}

enum class WaveState : std::uint8_t { running, asleep, at_barrier, ended };

/// One wavefront: registers, position and mode. Vector registers are rows of 64 lanes.
struct Wave {
  using Row = std::uint32_t[64];
  Row* v = nullptr;  ///< 512 registers, those for accumulation from 256 on, and scratch rows after them
  std::uint32_t s[slot::count] = {};
  bool scc = false;
  WaveState state = WaveState::running;
  unsigned lanes = 64;
  std::uint64_t full = ~0ull;  ///< a bit for each lane of the wave
  std::uint64_t dpp_valid = ~0ull;
  std::uint32_t current = 0;  ///< index of the instruction being executed
  std::uint32_t next = 0;     ///< index of the next one
  std::uint32_t mode = 0;
  std::uint32_t float_control[3] = {};  ///< the host's control word for each FloatGroup
  std::uint32_t trap_status = 0;
  unsigned id = 0;  ///< within the workgroup
  unsigned generation = 9;
  Workgroup* group = nullptr;
  const Program* program = nullptr;
  std::uint8_t* scratch = nullptr;  ///< the wave's private memory, swizzled by lane
  std::uint32_t scratch_bytes = 0;  ///< for each lane
  bool gpr_index = false;           ///< s_set_gpr_idx_on: registers are indexed relative to M0
  std::uint32_t gpr_index_mode = 0;

  [[gnu::always_inline]] std::uint64_t exec() const { return mask_at(slot::exec) & full; }
  [[gnu::always_inline]] std::uint64_t vcc() const { return mask_at(slot::vcc) & full; }
  [[gnu::always_inline]] std::uint64_t mask_at(unsigned i) const {
    return s[i] | std::uint64_t(s[i + 1]) << 32;
  }
  /// Writes a lane mask; waves of 32 lanes write one register.
  [[gnu::always_inline]] void set_mask(unsigned i, std::uint64_t mask) {
    s[i] = std::uint32_t(mask);
    if (lanes == 64) s[i + 1] = std::uint32_t(mask >> 32);
  }
  [[gnu::always_inline]] void set64(unsigned i, std::uint64_t value) {
    s[i] = std::uint32_t(value);
    s[i + 1] = std::uint32_t(value >> 32);
  }
  void set_mode(std::uint32_t bits);
};

}  // namespace weir::hipsim
