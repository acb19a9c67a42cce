// SPDX-License-Identifier: Apache-2.0
// Scalar floating point of GFX12: arithmetic, conversions, comparisons.
#include <gtest/gtest.h>

#include <algorithm>

#include "scalar_table.hpp"

namespace weir::hipsim::test {
namespace scalar_float_table {

enum : unsigned { less = 1, equal = 2, greater = 4, unordered = 8 };
template <class T, unsigned condition>
bool holds(T a, T b) {
  return condition & (a < b ? less : a == b ? equal : a > b ? greater : unordered);
}
template <class T>
void add_comparisons(ScalarTable& t, const std::string& type) {
  t.compare<T, T>("s_cmp_lt_" + type, holds<T, less>);
  t.compare<T, T>("s_cmp_eq_" + type, holds<T, equal>);
  t.compare<T, T>("s_cmp_le_" + type, holds<T, less | equal>);
  t.compare<T, T>("s_cmp_gt_" + type, holds<T, greater>);
  t.compare<T, T>("s_cmp_lg_" + type, holds<T, less | greater>);
  t.compare<T, T>("s_cmp_ge_" + type, holds<T, greater | equal>);
  t.compare<T, T>("s_cmp_o_" + type, holds<T, less | equal | greater>);
  t.compare<T, T>("s_cmp_u_" + type, holds<T, unordered>);
  t.compare<T, T>("s_cmp_nge_" + type, holds<T, unordered | less>);
  t.compare<T, T>("s_cmp_nlg_" + type, holds<T, unordered | equal>);
  t.compare<T, T>("s_cmp_ngt_" + type, holds<T, unordered | less | equal>);
  t.compare<T, T>("s_cmp_nle_" + type, holds<T, unordered | greater>);
  t.compare<T, T>("s_cmp_neq_" + type, holds<T, unordered | less | greater>);
  t.compare<T, T>("s_cmp_nlt_" + type, holds<T, unordered | equal | greater>);
}

/// Computes in a type wide enough for an exact sum or product of halves.
template <class T>
using Wide = std::conditional_t<sizeof(T) == 2, f64, f32>;
f64 nearest_even(f64 x) {
  const f64 down = std::floor(x), rest = x - down;
  return std::copysign(rest > 0.5 || (rest == 0.5 && std::fmod(down, 2) != 0) ? down + 1 : down, x);
}

template <class T>
void add_arithmetic(ScalarTable& t, const std::string& type) {
  t.add<T, T, T>("s_add_" + type, [](T a, T b, bool&) { return T(Wide<T>(a) + Wide<T>(b)); });
  t.add<T, T, T>("s_sub_" + type, [](T a, T b, bool&) { return T(Wide<T>(a) - Wide<T>(b)); });
  t.add<T, T, T>("s_mul_" + type, [](T a, T b, bool&) { return T(Wide<T>(a) * Wide<T>(b)); });
  t.add<T, T, T>("s_min_num_" + type, [](T a, T b, bool&) { return extreme(true, false, a, b); });
  t.add<T, T, T>("s_max_num_" + type, [](T a, T b, bool&) { return extreme(true, true, a, b); });
  t.add<T, T, T>("s_minimum_" + type, [](T a, T b, bool&) {
    return is_nan(a) || is_nan(b) ? quiet_nan<T>() : extreme(false, false, a, b);
  });
  t.add<T, T, T>("s_maximum_" + type, [](T a, T b, bool&) {
    return is_nan(a) || is_nan(b) ? quiet_nan<T>() : extreme(false, true, a, b);
  });
  t.add<T, T>("s_ceil_" + type, [](T a, bool&) { return T(std::ceil(f64(a))); });
  t.add<T, T>("s_floor_" + type, [](T a, bool&) { return T(std::floor(f64(a))); });
  t.add<T, T>("s_trunc_" + type, [](T a, bool&) { return T(std::trunc(f64(a))); });
  t.add<T, T>("s_rndne_" + type,
              [](T a, bool&) { return std::isfinite(f64(a)) ? T(nearest_even(f64(a))) : a; });
  t.add_update<T, T>("s_fmac_" + type, [](T d, T a, bool&) { return fused(a, a, d); }, "%d, %a, %a");
}

template <class I>
I whole(f64 x) {
  using Limits = std::numeric_limits<I>;
  return x != x ? 0 : I(std::clamp(std::trunc(x), f64(Limits::min()), f64(Limits::max())));
}

constexpr f32 pi = 3.14159274f;

}  // namespace scalar_float_table

std::vector<Case> scalar_float_rows(const Target&) {
  using namespace scalar_float_table;
  ScalarTable t;
  add_arithmetic<f32>(t, "f32");
  add_arithmetic<f16>(t, "f16");
  add_comparisons<f32>(t, "f32");
  add_comparisons<f16>(t, "f16");
  t.add<f32, f32, f32>(
      "s_fmaak_f32", [](f32 a, f32 b, bool&) { return fused(a, b, pi); }, "%d, %a, %b, 0x40490fdb");
  t.add<f32, f32, f32>(
      "s_fmamk_f32", [](f32 a, f32 b, bool&) { return fused(a, pi, b); }, "%d, %a, 0x40490fdb, %b");
  t.add<f32, i32>("s_cvt_f32_i32", [](i32 a, bool&) { return f32(a); });
  t.add<f32, u32>("s_cvt_f32_u32", [](u32 a, bool&) { return f32(a); });
  t.add<i32, f32>("s_cvt_i32_f32", [](f32 a, bool&) { return whole<i32>(a); });
  t.add<u32, f32>("s_cvt_u32_f32", [](f32 a, bool&) { return whole<u32>(a); });
  t.add<f16, f32>("s_cvt_f16_f32", [](f32 a, bool&) { return f16(a); });
  t.add<f32, f16>("s_cvt_f32_f16", [](f16 a, bool&) { return f32(a); });
  t.add<f32, u32>("s_cvt_hi_f32_f16", [](u32 a, bool&) { return f32(from_bits<f16>(a >> 16)); });
  return t.take();
}

TEST(Rows, ScalarFloats) {
  check_table(scalar_float_rows);
}

}  // namespace weir::hipsim::test
