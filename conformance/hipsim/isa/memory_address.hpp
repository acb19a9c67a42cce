// SPDX-License-Identifier: Apache-2.0
// Addresses of global, flat and scratch instructions.
#pragma once
#include "isa/lane_memory.hpp"

namespace weir::hipsim {

/// The value of a scalar operand of 32 or 64 bits.
u32 scalar32(const Wave& w, const Operand& o);
u64 scalar64(const Wave& w, const Operand& o);

/// The address of each lane of a global or flat instruction, from its operands `address` and `base`. `base`
/// may be none.
struct FlatAddress {
  FlatAddress(const Wave& w, const Operand& address, const Operand& base, i32 offset)
      : low(w.v[address.index]),
        high(base ? nullptr : w.v[address.index + 1]),
        start((base ? scalar64(w, base) : 0) + u64(i64(offset))) {}
  u64 operator()(unsigned lane) const { return start + low[lane] + (high ? u64(high[lane]) << 32 : 0); }
  const u32 *low, *high;
  u64 start;
};

/// The offset in private memory of each lane of a scratch instruction. Both operands may be none.
struct ScratchAddress {
  ScratchAddress(const Wave& w, const Operand& address, const Operand& base, i32 offset)
      : row(address ? w.v[address.index] : nullptr), start((base ? scalar32(w, base) : 0) + u32(offset)) {}
  u32 operator()(unsigned lane) const { return start + (row ? row[lane] : 0); }
  const u32* row;
  u32 start;
};

/// A lane's value of 4 or 8 bytes, starting at the vector register `index`.
inline u64 lane_value(const Wave& w, unsigned index, unsigned lane, unsigned bytes) {
  return w.v[index][lane] | (bytes == 8 ? u64(w.v[index + 1][lane]) << 32 : 0);
}

/// Calls f(lane) for each lane of a mask.
template <class F>
void each_lane(u64 mask, F f) {
  for (; mask; mask &= mask - 1) f(unsigned(__builtin_ctzll(mask)));
}

}  // namespace weir::hipsim
