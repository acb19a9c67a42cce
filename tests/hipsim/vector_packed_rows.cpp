// SPDX-License-Identifier: Apache-2.0
// VOP3P: two halves or two singles at once, mixed precision, and dot products.
#include <gtest/gtest.h>

#include <algorithm>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace vector_packed_table {

/// Test syntax of op_sel, op_sel_hi, neg_lo and neg_hi: swaps the halves of a and b, and negates b in the
/// high half.
constexpr const char* crossed = "%d, %a, %b op_sel:[1,1] op_sel_hi:[0,0]";
constexpr const char* negated = "%d, %a, %b neg_lo:[1,0] neg_hi:[0,1]";

template <class T, class W>
T part(W whole, unsigned n) {
  return from_bits<T>(whole >> n * sizeof(T) * 8);
}
template <class T, class W>
W both(T low, T high) {
  return W(raw(low)) | W(raw(high)) << sizeof(T) * 8;
}
template <class T, class W, T f(const Lane&, T, T)>
W on_pairs(Lane& l, W a, W b) {
  return both<T, W>(f(l, part<T>(a, 0), part<T>(b, 0)), f(l, part<T>(a, 1), part<T>(b, 1)));
}
template <class T, class W, T f(const Lane&, T, T)>
W on_crossed(Lane& l, W a, W b) {
  return both<T, W>(f(l, part<T>(a, 1), part<T>(b, 1)), f(l, part<T>(a, 0), part<T>(b, 0)));
}
template <class T>
T minus(T x) {
  return from_bits<T>(raw(x) ^ sign_mask<T>);
}
template <class T, class W, T f(const Lane&, T, T)>
W on_negated(Lane& l, W a, W b) {
  return both<T, W>(f(l, minus(part<T>(a, 0)), part<T>(b, 0)), f(l, part<T>(a, 1), minus(part<T>(b, 1))));
}
template <class T, class W, T f(const Lane&, T, T, T)>
W on_three(Lane& l, W a, W b, W c) {
  return both<T, W>(f(l, part<T>(a, 0), part<T>(b, 0), part<T>(c, 0)),
                    f(l, part<T>(a, 1), part<T>(b, 1), part<T>(c, 1)));
}

template <class T, T f(const Lane&, T, T)>
void add_two(VectorTable& t, const std::string& names, bool clamps = false) {
  using W = std::conditional_t<sizeof(T) == 4, u64, u32>;
  t.add<W, W, W>(names, on_pairs<T, W, f>, {.clamps = clamps});
  t.add<W, W, W>(names, on_crossed<T, W, f>, {.text = crossed});
  if constexpr (is_float<T>) t.add<W, W, W>(names, on_negated<T, W, f>, {.text = negated});
}
template <class T, T f(const Lane&, T, T, T)>
void add_three(VectorTable& t, const std::string& names, const Form& form = {}) {
  using W = std::conditional_t<sizeof(T) == 4, u64, u32>;
  t.add<W, W, W, W>(names, on_three<T, W, f>, form);
}

template <class T>
T sum(const Lane&, T a, T b) {
  if constexpr (sizeof(T) == 2)
    return settle<T>(f64(a) + f64(b), a, b);
  else
    return settle<T>(a + b, a, b);
}
template <class T>
T product(const Lane&, T a, T b) {
  if constexpr (sizeof(T) == 2)
    return settle<T>(f64(a) * f64(b), a, b);
  else
    return settle<T>(a * b, a, b);
}
template <class T>
T fma_of(const Lane&, T a, T b, T c) {
  return fused(a, b, c);
}
template <bool larger>
f16 order(const Lane& l, f16 a, f16 b) {
  return extreme(l.ieee, larger, a, b);
}
template <bool larger>
f16 strict(const Lane&, f16 a, f16 b) {
  return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : extreme(false, larger, a, b);
}

template <class T>
T within(const Lane& l, int exact) {
  using Limits = std::numeric_limits<T>;
  return T(l.clamp ? std::clamp<int>(exact, Limits::min(), Limits::max()) : exact);
}
template <class T>
T integer_sum(const Lane& l, T a, T b) {
  return within<T>(l, int(a) + b);
}
template <class T>
T integer_difference(const Lane& l, T a, T b) {
  return within<T>(l, int(a) - b);
}
template <class T>
T smaller(const Lane&, T a, T b) {
  return std::min(a, b);
}
template <class T>
T larger(const Lane&, T a, T b) {
  return std::max(a, b);
}
template <class T>
T product_and_sum(const Lane&, T a, T b, T c) {
  return T(u32(a) * u32(b) + u32(c));
}
template <class T>
T low_product(const Lane&, T a, T b) {
  return T(u32(a) * b);
}
template <class T>
T left(const Lane&, T n, T a) {
  return T(a << (n & 15));
}
template <class T>
T right(const Lane&, T n, T a) {
  return T(a >> (n & 15));
}

template <class T>
void add_integers(VectorTable& t, const std::string& type) {
  add_two<T, integer_sum<T>>(t, "v_pk_add_" + type, true);
  add_two<T, integer_difference<T>>(t, "v_pk_sub_" + type, true);
  add_two<T, smaller<T>>(t, "v_pk_min_" + type);
  add_two<T, larger<T>>(t, "v_pk_max_" + type);
  add_three<T, product_and_sum<T>>(t, "v_pk_mad_" + type);
}

/// Dot products: sums of products of parts with the given width.
template <unsigned bits, bool signs>
std::int64_t part_of(u32 x, unsigned n) {
  const std::int64_t value = x >> n & ((1ll << bits) - 1);
  return signs && value >> (bits - 1) ? value - (1ll << bits) : value;
}
template <unsigned bits, bool first, bool second>
u32 dot(Lane& l, u32 a, u32 b, u32 c) {
  constexpr bool signs = first || second;
  std::int64_t exact = signs ? std::int64_t(i32(c)) : std::int64_t(c);
  for (unsigned n = 0; n < 32; n += bits) exact += part_of<bits, first>(a, n) * part_of<bits, second>(b, n);
  if (l.clamp) exact = std::clamp<std::int64_t>(exact, signs ? INT32_MIN : 0, signs ? INT32_MAX : UINT32_MAX);
  return u32(exact);
}

template <unsigned bits>
void add_dots(VectorTable& t, const std::string& wide, const std::string& narrow, const std::string& types) {
  const std::string count = std::to_string(32 / bits);
  // GFX11's assembler uses this name for the form that neg_lo makes signed.
  t.add<u32, u32, u32, u32>("v_dot" + count + "_i32_" + wide, dot<bits, true, true>,
                            {.clamps = true, .to = 10});
  t.add<u32, u32, u32, u32>("v_dot" + count + "c_i32_" + wide, dot<bits, true, true>, {.accumulates = true});
  t.add<u32, u32, u32, u32>("v_dot" + count + "_u32_" + narrow, dot<bits, false, false>, {.clamps = true});
  if (types.empty()) return;
  const std::string name = "v_dot" + count + "_i32_" + types;
  t.add<u32, u32, u32, u32>(name, dot<bits, false, false>);
  t.add<u32, u32, u32, u32>(name, dot<bits, true, false>, {.text = "%d, %a, %b, %c neg_lo:[1,0,0]"});
  t.add<u32, u32, u32, u32>(name, dot<bits, false, true>, {.text = "%d, %a, %b, %c neg_lo:[0,1,0]"});
  t.add<u32, u32, u32, u32>(name, dot<bits, true, true>, {.text = "%d, %a, %b, %c neg_lo:[1,1,0]"});
}

/// Two products of halves and a single, added in sequence with a rounding after each.
f32 half_dot(u32 a, u32 b, f32 c) {
  f64 sum = c;
  for (unsigned n = 0; n < 2; ++n) sum = f32(f64(part<f16>(a, n)) * f64(part<f16>(b, n)) + sum);
  return f32(sum);
}

/// Mixed precision: op_sel_hi marks a source as a half, op_sel selects which half.
f32 mixed(u32 a, u32 b, f32 c) {
  return fused(f32(part<f16>(a, 1)), f32(part<f16>(b, 0)), c);
}

}  // namespace vector_packed_table

std::vector<Case> packed_rows(const Target& target) {
  using namespace vector_packed_table;
  VectorTable t(target);
  add_two<f16, sum<f16>>(t, "v_pk_add_f16");
  add_two<f16, product<f16>>(t, "v_pk_mul_f16");
  add_two<f16, order<false>>(t, "v_pk_min_f16 v_pk_min_num_f16");
  add_two<f16, order<true>>(t, "v_pk_max_f16 v_pk_max_num_f16");
  add_two<f16, strict<false>>(t, "v_pk_minimum_f16");
  add_two<f16, strict<true>>(t, "v_pk_maximum_f16");
  add_three<f16, fma_of<f16>>(t, "v_pk_fma_f16");
  add_three<f16, fma_of<f16>>(t, "v_pk_fmac_f16", {.accumulates = true});
  add_integers<u16>(t, "u16");
  add_integers<i16>(t, "i16");
  add_two<u16, low_product<u16>>(t, "v_pk_mul_lo_u16");
  add_two<u16, left<u16>>(t, "v_pk_lshlrev_b16");
  add_two<u16, right<u16>>(t, "v_pk_lshrrev_b16");
  add_two<i16, right<i16>>(t, "v_pk_ashrrev_i16");
  add_two<f32, sum<f32>>(t, "v_pk_add_f32");
  add_two<f32, product<f32>>(t, "v_pk_mul_f32");
  add_three<f32, fma_of<f32>>(t, "v_pk_fma_f32");
  t.add<u64, u64, u64>("v_pk_mov_b32", [](u64 a, u64 b) { return (a >> 32) | b << 32; },
                       {.text = "%d, %a, %b op_sel:[1,0]"});
  return t.take();
}

std::vector<Case> mixed_rows(const Target& target) {
  using namespace vector_packed_table;
  VectorTable t(target);
  add_dots<16>(t, "i16", "u16", "");
  add_dots<8>(t, "i8", "u8", "iu8");
  add_dots<4>(t, "i4", "u4", "iu4");
  t.add<f32, u32, u32, f32>("v_dot2_f32_f16", half_dot, {.any_nan = true});
  t.add<f32, u32, u32, f32>("v_dot2c_f32_f16 v_dot2acc_f32_f16", half_dot,
                            {.accumulates = true, .any_nan = true});
  t.add<f32, u32, u32, f32>(
      "v_dual_dot2acc_f32_f16", half_dot,
      {.text = "%d, %a, %b :: v_dual_mov_b32 v13, v7", .accumulates = true, .any_nan = true});
  const std::string selected = " op_sel:[1,0,0] op_sel_hi:[1,1,0]";
  t.add<f32, u32, u32, f32>("v_fma_mix_f32 v_mad_mix_f32", mixed, {.text = "%d, %a, %b, %c" + selected});
  // Writes one half of the result register; the other half is preserved.
  t.add<u32, u32, u32, f32>(
      "v_fma_mixlo_f16 v_mad_mixlo_f16",
      [](Lane& l, u32 a, u32 b, f32 c) { return (u32(l.before) & 0xffff0000u) | raw(f16(mixed(a, b, c))); },
      {.text = "%d, %a, %b, %c" + selected});
  t.add<u32, u32, u32, f32>("v_fma_mixhi_f16 v_mad_mixhi_f16",
                            [](Lane& l, u32 a, u32 b, f32 c) {
                              return (u32(l.before) & 0xffff) | u32(raw(f16(mixed(a, b, c)))) << 16;
                            },
                            {.text = "%d, %a, %b, %c" + selected});
  return t.take();
}

TEST(Rows, Packed) {
  check_table(packed_rows);
}
TEST(Rows, MixedAndDots) {
  check_table(mixed_rows);
}

}  // namespace weir::hipsim::test
