// SPDX-License-Identifier: Apache-2.0
// Access of one lane to each kind of memory, and the addresses of memory instructions. Aligned accesses of up
// to 8 bytes are single accesses on the host too.
#pragma once
#include <cstdint>

#include "isa/numbers/numbers.hpp"
#include "isa/state/workgroup.hpp"

namespace weir::hipsim {

enum class Space : std::uint8_t { global, flat, scratch };

/// Copies `bytes` (1, 2, 4 or a multiple of 4) between a lane and memory. Throws Fault on a bad address.
void load_global(Wave& w, unsigned lane, u64 address, unsigned bytes, void* out);
void store_global(Wave& w, unsigned lane, u64 address, unsigned bytes, const void* in);
/// The same without checks, for accesses known to be valid.
void load_unchecked(u64 address, unsigned bytes, void* out);
void store_unchecked(u64 address, unsigned bytes, const void* in);
void load_scratch(Wave& w, unsigned lane, u32 offset, unsigned bytes, void* out);
void store_scratch(Wave& w, unsigned lane, u32 offset, unsigned bytes, const void* in);
void load_lds(Wave& w, unsigned lane, u32 address, unsigned bytes, void* out);
void store_lds(Wave& w, unsigned lane, u32 address, unsigned bytes, const void* in);
/// Selects the memory by the address's aperture.
void load_flat(Wave& w, unsigned lane, u64 address, unsigned bytes, void* out);
void store_flat(Wave& w, unsigned lane, u64 address, unsigned bytes, const void* in);

/// Checks `bytes` at a global address. Throws Fault.
void require_global(Wave& w, unsigned lane, u64 address, unsigned bytes, const char* doing);
/// Checks an LDS address and records the access for the race check. Throws Fault.
void require_lds(Wave& w, unsigned lane, u32 address, unsigned bytes, LdsAccess access);
/// The host address of a lane's private byte. Checked; throws Fault.
std::uint8_t* scratch_word(Wave& w, unsigned lane, u32 offset, unsigned bytes);

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
