// SPDX-License-Identifier: Apache-2.0
// Moves between lanes, and between lanes and scalar registers.
#include <algorithm>
#include <bit>

#include "isa/code/operations.hpp"
#include "isa/memory/lane_memory.hpp"

namespace weir::hipsim {

void read32(Wave& w, const Instruction& i, unsigned k, std::uint32_t* out);

namespace {

u32 lane_of(const Wave& w, const Operand& o, unsigned lane) {
  return o.kind == OperandKind::vgpr ? w.v[o.index][lane] : scalar32(w, o);
}

void read_first_lane(Wave& w, const Instruction& i) {
  const u64 exec = w.exec();
  w.s[i.dst[0].index] = lane_of(w, i.src[0], exec ? unsigned(std::countr_zero(exec)) : 0);
}
void read_lane(Wave& w, const Instruction& i) {
  w.s[i.dst[0].index] = lane_of(w, i.src[0], scalar32(w, i.src[1]) % w.lanes);
}
void write_lane(Wave& w, const Instruction& i) {
  w.v[i.dst[0].index][scalar32(w, i.src[1]) % w.lanes] = scalar32(w, i.src[0]);
}

/// The number of mask bits below the lane, plus the second source.
template <bool upper>
void count_below(Wave& w, const Instruction& i) {
  u32 mask[64], addend[64];
  read32(w, i, 0, mask);
  read32(w, i, 1, addend);
  each_lane(w.exec(), [&](unsigned l) {
    const u64 below = (1ull << l) - 1;
    w.v[i.dst[0].index][l] = u32(std::popcount(mask[l] & u32(upper ? below >> 32 : below))) + addend[l];
  });
}

/// Moves within rows of 16 lanes, or between two rows, by selectors in two scalars. One bit of op_sel selects
/// whether inactive lanes are read, another whether lanes without a source become zero or keep their value.
template <bool other_row>
void permute_lanes(Wave& w, const Instruction& i) {
  const u64 selectors = scalar32(w, i.src[1]) | u64(scalar32(w, i.src[2])) << 32, exec = w.exec();
  const bool fetch_inactive = i.op_sel & 1, zero = i.op_sel >> 1 & 1;
  u32 source[64];
  read32(w, i, 0, source);
  each_lane(exec, [&](unsigned l) {
    const unsigned row = (l & ~15u) ^ (other_row ? 16u : 0u),
                   from = row | unsigned(selectors >> 4 * (l & 15) & 15);
    if (fetch_inactive || (exec >> from & 1))
      w.v[i.dst[0].index][l] = source[from];
    else if (zero)
      w.v[i.dst[0].index][l] = 0;
  });
}

// In a wave of 32 lanes the instruction does nothing (RDNA 3 instruction set, V_PERMLANE64_B32).
void permute_halves(Wave& w, const Instruction& i) {
  if (w.lanes == 32) return;
  u32 source[64];
  read32(w, i, 0, source);
  each_lane(w.exec(), [&](unsigned l) { w.v[i.dst[0].index][l] = source[l ^ 32]; });
}

void swap_registers(Wave& w, const Instruction& i) {
  each_lane(w.exec(), [&](unsigned l) { std::swap(w.v[i.dst[0].index][l], w.v[i.src[0].index][l]); });
}

void swap_halves(Wave& w, const Instruction& i) {
  const unsigned to = i.dst[0].part == Part::word1 ? 16 : 0, from = i.src[0].part == Part::word1 ? 16 : 0;
  u32 *first = w.v[i.dst[0].index], *second = w.v[i.src[0].index];
  each_lane(w.exec(), [&](unsigned l) {
    const u32 a = first[l] >> to & 0xffff, b = second[l] >> from & 0xffff;
    first[l] = (first[l] & ~(0xffffu << to)) | b << to;
    second[l] = (second[l] & ~(0xffffu << from)) | a << from;
  });
}

/// Exchanges odd rows of `size` lanes of the first register with even rows of the second.
template <unsigned size>
void swap_rows(Wave& w, const Instruction& i) {
  for (unsigned l = 0; l < w.lanes; ++l)
    if (!(l / size & 1)) std::swap(w.v[i.dst[0].index][l + size], w.v[i.src[0].index][l]);
}

void move_from_relative(Wave& w, const Instruction& i) {
  const u32* from = w.v[(i.src[0].index + w.s[slot::m0]) % 256];
  each_lane(w.exec(), [&](unsigned l) { w.v[i.dst[0].index][l] = from[l]; });
}
void move_to_relative(Wave& w, const Instruction& i) {
  u32 value[64];
  read32(w, i, 0, value);
  u32* to = w.v[(i.dst[0].index + w.s[slot::m0]) % 256];
  each_lane(w.exec(), [&](unsigned l) { to[l] = value[l]; });
}
void move_both_relative(Wave& w, const Instruction& i) {
  const u32 m0 = w.s[slot::m0];
  const u32* from = w.v[(i.src[0].index + (m0 & 0xff)) % 256];
  u32* to = w.v[(i.dst[0].index + (m0 >> 16 & 0xff)) % 256];
  each_lane(w.exec(), [&](unsigned l) { to[l] = from[l]; });
}

/// The first half's result is kept in a spare row until the second half has read its sources.
void dual(Wave& w, const Instruction& i) {
  constexpr unsigned spare = 512;
  Instruction first = *i.second;
  const unsigned target = first.dst[0].index;
  first.dst[0].index = spare;
  const Instruction& second = *i.second->second;
  std::copy_n(w.v[target], 64, w.v[spare]);
  first.run(w, first);
  second.run(w, second);
  each_lane(w.exec(), [&](unsigned l) { w.v[target][l] = w.v[spare][l]; });
}

}  // namespace

void define_lanes(OperationTable& t) {
  t.add("v_readfirstlane_b32", scalar(1, read_first_lane));
  t.add("v_readlane_b32", scalar(2, read_lane));
  t.add("v_writelane_b32", scalar(2, write_lane));
  t.add("v_mbcnt_lo_u32_b32", scalar(2, count_below<false>));
  t.add("v_mbcnt_hi_u32_b32", scalar(2, count_below<true>));
  t.add("v_permlane16_b32", scalar(3, permute_lanes<false>));
  t.add("v_permlanex16_b32", scalar(3, permute_lanes<true>));
  t.add("v_permlane64_b32", scalar(1, permute_halves));
  t.add("v_permlane16_swap_b32", scalar(1, swap_rows<16>));
  t.add("v_permlane32_swap_b32", scalar(1, swap_rows<32>));
  t.add("v_swap_b32", scalar(1, swap_registers));
  t.add("v_swap_b16", scalar(1, swap_halves));
  t.add("v_movrels_b32", scalar(1, move_from_relative));
  t.add("v_movreld_b32", scalar(1, move_to_relative));
  t.add("v_movrelsd_2_b32", scalar(1, move_both_relative));
}

void define_dual(OperationTable& t) {
  t.add("v_dual", Operation{dual, -1, FloatGroup::single});
}

}  // namespace weir::hipsim
