// SPDX-License-Identifier: Apache-2.0
// VOP3P: two halves or two singles in one operation, mixed precision, and dot products.
#include "isa/code/operations.hpp"
#include "isa/numbers/floating.hpp"
#include "isa/numbers/half.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {

/// The halves of source k for the low and the high result.
struct Pair {
  u32 low[64], high[64];
};

void read_pair(Wave& w, const Instruction& i, unsigned k, bool floating, Pair& pair) {
  const Operand& o = i.src[k];
  u32 raw[64];
  if (o.kind == OperandKind::constant)
    // Inline floating-point constants occupy the low half, with zeros above; all other constants have 32
    // bits.
    for (u32& x : raw) x = floating && o.k16 != u16(o.k32) ? o.k16 : o.k32;
  else
    read32(w, i, k, raw);
  const u32 flip_low = floating && i.neg_lo >> k & 1 ? 0x8000 : 0,
            flip_high = floating && i.neg_hi >> k & 1 ? 0x8000 : 0;
  const unsigned low = i.op_sel >> k & 1 ? 16 : 0, high = i.op_sel_hi >> k & 1 ? 16 : 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    pair.low[l] = (raw[l] >> low & 0xffff) ^ flip_low;
    pair.high[l] = (raw[l] >> high & 0xffff) ^ flip_high;
  }
}

template <class T, unsigned sources, class F>
Operation packed(F) {
  constexpr bool floating = std::is_same_v<T, Half>;
  return Operation{[](Wave& w, const Instruction& i) {
                     Pair in[3];
                     for (unsigned k = 0; k < sources; ++k) read_pair(w, i, k, floating, in[k]);
                     alignas(64) u32 out[64] = {};
                     const Context context{w, i};
                     const auto one = [&](const u32* a, const u32* b, const u32* c, unsigned l) -> u32 {
                       T r;
                       if constexpr (sources == 2)
                         r = F{}(context, from_raw<T>(a[l]), from_raw<T>(b[l]));
                       else
                         r = F{}(context, from_raw<T>(a[l]), from_raw<T>(b[l]), from_raw<T>(c[l]));
                       u32 bits = to_raw<T>(r);
                       if constexpr (floating)
                         if (i.clamp) {
                           const f64 x = to_double({u16(bits)});
                           bits = !(x > 0) ? 0 : x > 1 ? 0x3c00 : bits;
                         }
                       return bits;
                     };
                     for (unsigned l = 0; l < w.lanes; ++l)
                       out[l] = one(in[0].low, in[1].low, in[2].low, l) |
                                one(in[0].high, in[1].high, in[2].high, l) << 16;
                     commit_row(w, i.dst[0].index, out, write_mask(w, i));
                   },
                   int(sources), floating ? FloatGroup::half_and_double : FloatGroup::none};
}

using C = const Context&;

void define_halves(OperationTable& t) {
  t.add("v_pk_add_f16", packed<Half, 2>([](C c, Half a, Half b) { return half_sum(c.wave, a, b); }));
  t.add("v_pk_mul_f16", packed<Half, 2>([](C c, Half a, Half b) { return half_product(c.wave, a, b); }));
  t.add({"v_pk_min_f16", "v_pk_min_num_f16"},
        packed<Half, 2>([](C c, Half a, Half b) { return half_extreme(c.wave, a, b, false); }));
  t.add({"v_pk_max_f16", "v_pk_max_num_f16"},
        packed<Half, 2>([](C c, Half a, Half b) { return half_extreme(c.wave, a, b, true); }));
  t.add("v_pk_minimum_f16",
        packed<Half, 2>([](C c, Half a, Half b) { return half_strict(c.wave, a, b, false); }));
  t.add("v_pk_maximum_f16",
        packed<Half, 2>([](C c, Half a, Half b) { return half_strict(c.wave, a, b, true); }));
  t.add({"v_pk_fma_f16", "v_pk_fmac_f16"},
        packed<Half, 3>([](C c, Half x, Half y, Half z) { return half_fma(c.wave, x, y, z); }));
}

template <class T>
T within(bool clamp, i32 exact) {
  const i32 low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return T(!clamp ? exact : exact < low ? low : exact > high ? high : exact);
}

template <class T>
void define_integers(OperationTable& t, const std::string& s) {
  t.add("v_pk_add_" + s,
        packed<T, 2>([](C c, T a, T b) { return within<T>(c.instruction.clamp, i32(a) + i32(b)); }));
  t.add("v_pk_sub_" + s,
        packed<T, 2>([](C c, T a, T b) { return within<T>(c.instruction.clamp, i32(a) - i32(b)); }));
  t.add("v_pk_min_" + s, packed<T, 2>([](C, T a, T b) { return a < b ? a : b; }));
  t.add("v_pk_max_" + s, packed<T, 2>([](C, T a, T b) { return a > b ? a : b; }));
  t.add("v_pk_mad_" + s, packed<T, 3>([](C, T x, T y, T z) { return T(u32(x) * u32(y) + u32(z)); }));
}

/// Reads a 64-bit source as two singles, with the selections and signs of each.
template <class F, unsigned sources>
void packed_single(Wave& w, const Instruction& i) {
  f32 in[3][2][64];
  for (unsigned k = 0; k < sources; ++k) {
    const Operand& o = i.src[k];
    u64 raw[64];
    if (o.kind == OperandKind::constant)
      for (u64& x : raw) x = o.k32 | u64(o.k32) << 32;
    else
      read64(w, i, k, true, raw);
    for (unsigned l = 0; l < 64; ++l) {
      const u32 low = u32(raw[l] >> (i.op_sel >> k & 1 ? 32 : 0)),
                high = u32(raw[l] >> (i.op_sel_hi >> k & 1 ? 32 : 0));
      in[k][0][l] = std::bit_cast<f32>(low ^ (i.neg_lo >> k & 1 ? 0x80000000u : 0));
      in[k][1][l] = std::bit_cast<f32>(high ^ (i.neg_hi >> k & 1 ? 0x80000000u : 0));
    }
  }
  alignas(64) u32 out[2][64] = {};
  for (unsigned half = 0; half < 2; ++half) {
    for (unsigned l = 0; l < 64; ++l) {
      if constexpr (sources == 2)
        out[half][l] = std::bit_cast<u32>(F{}(in[0][half][l], in[1][half][l]));
      else
        out[half][l] = std::bit_cast<u32>(F{}(in[0][half][l], in[1][half][l], in[2][half][l]));
    }
    if (i.clamp) modify_f32(w, i, out[half]);
  }
  commit_row(w, i.dst[0].index, out[0], w.exec());
  commit_row(w, i.dst[0].index + 1u, out[1], w.exec());
}
template <unsigned sources, class F>
Operation two_singles(F) {
  return Operation{packed_single<F, sources>, int(sources), FloatGroup::single};
}

void move_pair(Wave& w, const Instruction& i) {
  u64 a[64], b[64];
  read64(w, i, 0, false, a);
  read64(w, i, 1, false, b);
  alignas(64) u32 low[64], high[64];
  for (unsigned l = 0; l < 64; ++l) {
    low[l] = u32(a[l] >> (i.op_sel & 1 ? 32 : 0));
    high[l] = u32(b[l] >> (i.op_sel >> 1 & 1 ? 32 : 0));
  }
  commit_row(w, i.dst[0].index, low, w.exec());
  commit_row(w, i.dst[0].index + 1u, high, w.exec());
}

}  // namespace

void define_packed(OperationTable& t) {
  define_halves(t);
  define_integers<u16>(t, "u16");
  define_integers<i16>(t, "i16");
  t.add("v_pk_mul_lo_u16", packed<u16, 2>([](C, u16 a, u16 b) { return u16(u32(a) * b); }));
  t.add("v_pk_lshlrev_b16", packed<u16, 2>([](C, u16 n, u16 a) { return u16(a << (n & 15)); }));
  t.add("v_pk_lshrrev_b16", packed<u16, 2>([](C, u16 n, u16 a) { return u16(a >> (n & 15)); }));
  t.add("v_pk_ashrrev_i16", packed<i16, 2>([](C, i16 n, i16 a) { return i16(a >> (n & 15)); }));
  t.add("v_pk_add_f32", two_singles<2>([](f32 a, f32 b) { return settled(a + b, a, b); }));
  t.add("v_pk_mul_f32", two_singles<2>([](f32 a, f32 b) { return settled(a * b, a, b); }));
  t.add("v_pk_fma_f32",
        two_singles<3>([](f32 a, f32 b, f32 c) { return settled(__builtin_fmaf(a, b, c), a, b, c); }));
  t.add("v_pk_mov_b32", scalar(2, move_pair));
  define_mixed(t);
}

}  // namespace weir::hipsim::HIPSIM_SIMD
