// SPDX-License-Identifier: Apache-2.0
// Conversions of loaded and stored values.
#pragma once
#include <cstring>

#include "isa/numbers/numbers.hpp"
#include "isa/state/wave.hpp"

namespace weir::hipsim {

enum class Widen : std::uint8_t {
  none,  ///< whole registers
  zero,
  sign,  ///< to 32 bits
  low,
  low_sign,  ///< to 16 bits, into the low half; the high half stays
  high,
  high_sign  ///< to 16 bits, into the high half
};

/// Writes a loaded value to a lane of the registers, starting at `index`.
template <unsigned bytes, Widen widen>
void place(Wave& w, unsigned index, unsigned lane, const u32* value) {
  if constexpr (widen == Widen::none) {
    for (unsigned k = 0; k < bytes / 4; ++k) w.v[index + k][lane] = value[k];
  } else {
    u32 x = bytes == 1 ? value[0] & 0xff : value[0] & 0xffff;
    if (widen == Widen::sign || widen == Widen::low_sign || widen == Widen::high_sign)
      x = bytes == 1 ? u32(i32(std::int8_t(x))) : u32(i32(i16(x)));
    u32& d = w.v[index][lane];
    if (widen == Widen::low || widen == Widen::low_sign) x = (d & 0xffff0000u) | (x & 0xffff);
    if (widen == Widen::high || widen == Widen::high_sign) x = (d & 0xffffu) | x << 16;
    d = x;
  }
}

/// The value that a lane stores: registers starting at `index`, or their upper half.
template <unsigned bytes, bool high>
void take(const Wave& w, unsigned index, unsigned lane, u32* value) {
  for (unsigned k = 0; k < (bytes + 3) / 4; ++k) value[k] = w.v[index + k][lane];
  if constexpr (high) value[0] >>= 16;
}

/// Calls `add(name, bytes, widen)` for each load and `store(name, bytes, high)` for each store. Names are
/// those of all generations, without the prefix such as "global_".
template <class Load, class Store>
void each_form(Load load, Store store) {
  using W = Widen;
#define HIPSIM_LOAD(bytes, widen, ...) \
  for (const char* name : {__VA_ARGS__}) load.template operator()<bytes, widen>(name)
  HIPSIM_LOAD(4, W::none, "load_dword", "load_b32");
  HIPSIM_LOAD(8, W::none, "load_dwordx2", "load_b64");
  HIPSIM_LOAD(12, W::none, "load_dwordx3", "load_b96");
  HIPSIM_LOAD(16, W::none, "load_dwordx4", "load_b128");
  HIPSIM_LOAD(1, W::zero, "load_ubyte", "load_u8");
  HIPSIM_LOAD(1, W::sign, "load_sbyte", "load_i8");
  HIPSIM_LOAD(2, W::zero, "load_ushort", "load_u16");
  HIPSIM_LOAD(2, W::sign, "load_sshort", "load_i16");
  HIPSIM_LOAD(1, W::low, "load_ubyte_d16", "load_d16_u8");
  HIPSIM_LOAD(1, W::low_sign, "load_sbyte_d16", "load_d16_i8");
  HIPSIM_LOAD(2, W::low, "load_short_d16", "load_d16_b16");
  HIPSIM_LOAD(1, W::high, "load_ubyte_d16_hi", "load_d16_hi_u8");
  HIPSIM_LOAD(1, W::high_sign, "load_sbyte_d16_hi", "load_d16_hi_i8");
  HIPSIM_LOAD(2, W::high, "load_short_d16_hi", "load_d16_hi_b16");
#undef HIPSIM_LOAD
#define HIPSIM_STORE(bytes, high, ...) \
  for (const char* name : {__VA_ARGS__}) store.template operator()<bytes, high>(name)
  HIPSIM_STORE(4, false, "store_dword", "store_b32");
  HIPSIM_STORE(8, false, "store_dwordx2", "store_b64");
  HIPSIM_STORE(12, false, "store_dwordx3", "store_b96");
  HIPSIM_STORE(16, false, "store_dwordx4", "store_b128");
  HIPSIM_STORE(1, false, "store_byte", "store_b8");
  HIPSIM_STORE(2, false, "store_short", "store_b16");
  HIPSIM_STORE(1, true, "store_byte_d16_hi", "store_d16_hi_b8");
  HIPSIM_STORE(2, true, "store_short_d16_hi", "store_d16_hi_b16");
#undef HIPSIM_STORE
}

}  // namespace weir::hipsim
