// SPDX-License-Identifier: Apache-2.0
// Mixed-precision multiply-add, and dot products of small numbers.
#include <algorithm>

#include "isa/code/operations.hpp"
#include "isa/numbers/floating.hpp"
#include "isa/numbers/half.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {

/// Reads a source: a half if op_sel_hi is set (op_sel selects which half), else a single.
void read_mixed(Wave& w, const Instruction& i, unsigned k, f32* out) {
  u32 raw[64];
  Instruction bare = i;
  bare.src[k].negate = bare.src[k].absolute = false;
  read32(w, bare, k, raw);
  const bool half = i.op_sel_hi >> k & 1;
  const Operand& o = i.src[k];
  for (unsigned l = 0; l < w.lanes; ++l) {
    f32 x = std::bit_cast<f32>(raw[l]);
    if (half) {
      const u16 bits = o.kind == OperandKind::constant ? o.k16 : u16(raw[l] >> (i.op_sel >> k & 1 ? 16 : 0));
      x = f32(to_double({bits}));
    }
    if (o.absolute || i.neg_hi >> k & 1) x = std::fabs(x);
    if (o.negate || i.neg_lo >> k & 1) x = -x;
    out[l] = x;
  }
}

enum class Result { single, low, high };

template <Result result>
void mixed(Wave& w, const Instruction& i) {
  f32 a[64], b[64], c[64];
  read_mixed(w, i, 0, a), read_mixed(w, i, 1, b), read_mixed(w, i, 2, c);
  alignas(64) u32 out[64] = {};
  const u32* old = w.v[i.dst[0].index];
  for (unsigned l = 0; l < w.lanes; ++l) {
    const f32 r = settled(__builtin_fmaf(a[l], b[l], c[l]), a[l], b[l], c[l]);
    f64 clamped = r;
    if (i.clamp) clamped = !(r > 0) ? 0.0 : r > 1 ? 1.0 : f64(r);
    if (result == Result::single) {
      out[l] = std::bit_cast<u32>(f32(clamped));
    } else {
      const u32 h = round_to_half(clamped, w.mode >> 2 & 3).bits;
      out[l] = result == Result::low ? (old[l] & 0xffff0000u) | h : (old[l] & 0xffff) | h << 16;
    }
  }
  commit_row(w, i.dst[0].index, out, w.exec());
}

template <unsigned bits, bool signed_a, bool signed_b>
void integer_dot(Wave& w, const Instruction& i) {
  u32 a[64], b[64], c[64];
  read32(w, i, 0, a), read32(w, i, 1, b), read32(w, i, 2, c);
  alignas(64) u32 out[64] = {};
  const auto part = [](u32 x, unsigned n, bool is_signed) {
    const u32 field = x << (32 - bits * (n + 1));
    return is_signed ? i64(i32(field) >> (32 - bits)) : i64(field >> (32 - bits));
  };
  for (unsigned l = 0; l < w.lanes; ++l) {
    i64 sum = signed_a || signed_b ? i64(i32(c[l])) : i64(c[l]);
    for (unsigned n = 0; n < 32 / bits; ++n) sum += part(a[l], n, signed_a) * part(b[l], n, signed_b);
    if (i.clamp)
      sum = signed_a || signed_b ? std::clamp<i64>(sum, INT32_MIN, INT32_MAX)
                                 : std::min<i64>(sum, 0xffffffffll);
    out[l] = u32(u64(sum));
  }
  commit_row(w, i.dst[0].index, out, w.exec());
}

/// In GFX11's "iu" forms, neg_lo selects the signed sources.
template <unsigned bits>
void integer_dot_by_sign(Wave& w, const Instruction& i) {
  Instruction bare = i;
  bare.src[0].negate = bare.src[1].negate = false;
  const bool a = i.neg_lo & 1, b = i.neg_lo >> 1 & 1;
  if (a && b)
    integer_dot<bits, true, true>(w, bare);
  else if (a)
    integer_dot<bits, true, false>(w, bare);
  else if (b)
    integer_dot<bits, false, true>(w, bare);
  else
    integer_dot<bits, false, false>(w, bare);
}

void half_dot(Wave& w, const Instruction& i) {
  u32 a[64], b[64], c[64];
  read32(w, i, 0, a), read32(w, i, 1, b), read32(w, i, 2, c);
  alignas(64) u32 out[64] = {};
  for (unsigned l = 0; l < w.lanes; ++l) {
    f32 sum = std::bit_cast<f32>(c[l]);
    for (unsigned n = 0; n < 2; ++n)
      sum = f32(to_double({u16(a[l] >> 16 * n)}) * to_double({u16(b[l] >> 16 * n)}) + f64(sum));
    out[l] = std::bit_cast<u32>(sum);
  }
  if (i.clamp) modify_f32(w, i, out);
  commit_row(w, i.dst[0].index, out, w.exec());
}

}  // namespace

void define_mixed(OperationTable& t) {
  const auto add = [&](std::initializer_list<std::string_view> names, Handler run) {
    t.add(names, Operation{run, 3, FloatGroup::single});
  };
  add({"v_fma_mix_f32", "v_mad_mix_f32"}, mixed<Result::single>);
  add({"v_fma_mixlo_f16", "v_mad_mixlo_f16"}, mixed<Result::low>);
  add({"v_fma_mixhi_f16", "v_mad_mixhi_f16"}, mixed<Result::high>);
  t.add({"v_dot2_i32_i16", "v_dot2c_i32_i16"}, scalar(3, integer_dot<16, true, true>));
  t.add("v_dot2_u32_u16", scalar(3, integer_dot<16, false, false>));
  t.add({"v_dot4_i32_i8", "v_dot4c_i32_i8"}, scalar(3, integer_dot<8, true, true>));
  t.add("v_dot4_u32_u8", scalar(3, integer_dot<8, false, false>));
  t.add({"v_dot8_i32_i4", "v_dot8c_i32_i4"}, scalar(3, integer_dot<4, true, true>));
  t.add("v_dot8_u32_u4", scalar(3, integer_dot<4, false, false>));
  t.add("v_dot4_i32_iu8", scalar(3, integer_dot_by_sign<8>));
  t.add("v_dot8_i32_iu4", scalar(3, integer_dot_by_sign<4>));
  add({"v_dot2_f32_f16", "v_dot2c_f32_f16", "v_dot2acc_f32_f16", "v_dual_dot2acc_f32_f16"}, half_dot);
}

}  // namespace weir::hipsim::HIPSIM_SIMD
