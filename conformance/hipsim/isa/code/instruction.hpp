// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace weir::hipsim {

struct Wave;
struct Instruction;

/// Executes one instruction for all active lanes of a wave.
using Handler = void (*)(Wave& wave, const Instruction& instruction);

/// The indices of the scalar registers in Wave::s. The first ones have the hardware's numbers.
namespace slot {
inline constexpr unsigned vcc = 106, ttmp = 108, m0 = 124, exec = 126, flat_scratch = 128, xnack_mask = 130,
                          shared_base = 132, shared_limit = 134, private_base = 136, private_limit = 138,
                          pops_id = 140, dump = 142, count = 148;
}

/// The kinds of operands. `scc`, `vccz` and `execz` are computed when they are read.
enum class OperandKind : std::uint8_t { none, vgpr, sgpr, constant, scc, vccz, execz };

/// The parts of a 32-bit register that SDWA and 16-bit operands name.
enum class Part : std::uint8_t { all, word0, word1, byte0, byte1, byte2, byte3 };

/// A decoded operand. A constant is stored in the form that each operand width reads.
struct Operand {
  OperandKind kind = OperandKind::none;
  std::uint8_t width = 1;  ///< registers of 32 bits
  Part part = Part::all;
  bool negate = false, absolute = false, sign_extend = false;
  bool plain = false;       ///< a vector register without modifiers
  std::uint16_t index = 0;  ///< in Wave::v (accumulation registers from 256 on) or Wave::s
  std::uint16_t k16 = 0;
  std::uint32_t k32 = 0;
  std::uint64_t k64 = 0;   ///< the constant for a 64-bit integer operand
  std::uint64_t kf64 = 0;  ///< the constant for a double operand
  explicit operator bool() const { return kind != OperandKind::none; }
};

/// How data-parallel primitives move lanes of the first source.
enum class Dpp : std::uint8_t {
  none,
  quad_perm,
  row_shl,
  row_shr,
  row_ror,
  wave_shl,
  wave_rol,
  wave_shr,
  wave_ror,
  row_mirror,
  row_half_mirror,
  row_bcast15,
  row_bcast31,
  row_newbcast,
  row_share,
  row_xmask,
  dpp8
};

enum class DstUnused : std::uint8_t { pad, sign_extend, preserve };

/// The group of mode bits that an instruction's arithmetic obeys.
enum class FloatGroup : std::uint8_t { none, single, half_and_double };

/// A decoded instruction. Programs hold them in the order of their addresses.
struct Instruction {
  Handler run = nullptr;
  std::array<Operand, 2> dst;
  std::array<Operand, 6> src;
  FloatGroup float_group = FloatGroup::none;
  bool clamp = false;
  std::uint8_t output_modifier = 0;  ///< 0 none, 1 times 2, 2 times 4, 3 divided by 2
  Dpp dpp = Dpp::none;
  std::uint8_t dpp_argument = 0;  ///< the count of lanes, or quad_perm's packed selectors
  std::uint8_t row_mask = 15, bank_mask = 15;
  bool bound_control = false, fetch_inactive = false;
  std::uint32_t dpp8 = 0;  ///< eight selectors of three bits
  Part dst_part = Part::all;
  DstUnused dst_unused = DstUnused::pad;
  std::uint8_t op_sel = 0, op_sel_hi = 0, neg_lo = 0, neg_hi = 0;  ///< one bit for each source, in text order
  bool returns = false;                                            ///< an atomic that returns the old value
  bool zero_high = false;  ///< 16-bit results clear the upper half (before GFX10)
  bool offset_enabled = false, index_enabled = false, to_lds = false, gds = false;
  std::int32_t offset = 0;  ///< of memory, in bytes; also the plain immediate of scalar instructions
  std::int32_t offset1 = 0;
  std::uint32_t pc = 0;      ///< from the start of the code section
  std::uint32_t size = 4;    ///< bytes
  std::uint32_t target = 0;  ///< index of the branch's target instruction
  std::uint8_t lanes = 64;   ///< of the waves that this was decoded for
  std::uint8_t generation = 9;
  std::shared_ptr<Instruction> second;  ///< the second half of a dual instruction
  std::string problem;                  ///< why it cannot be executed; empty if it can
};

}  // namespace weir::hipsim
