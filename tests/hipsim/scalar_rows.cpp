// SPDX-License-Identifier: Apache-2.0
// Scalar sums, products, moves, comparisons, and immediate operands.
#include <gtest/gtest.h>

#include <algorithm>

#include "scalar_table.hpp"

namespace weir::hipsim::test {
namespace scalar_table {

template <int sign, bool carries>
u32 unsigned_sum(u32 a, u32 b, bool& scc) {
  const std::int64_t exact = std::int64_t(a) + sign * (std::int64_t(b) + (carries && scc));
  scc = exact < 0 || exact > 0xffffffffll;
  return u32(exact);
}
template <int sign>
u32 signed_sum(i32 a, i32 b, bool& scc) {
  const std::int64_t exact = std::int64_t(a) + sign * std::int64_t(b);
  scc = exact != i32(exact);
  return u32(exact);
}
template <class T, bool larger>
T order(T a, T b, bool& scc) {
  scc = larger ? a > b : a < b;
  return larger ? std::max(a, b) : std::min(a, b);
}
template <unsigned n>
u32 shift_add(u32 a, u32 b, bool& scc) {
  const u64 exact = (u64(a) << n) + b;
  scc = exact >> 32 != 0;
  return u32(exact);
}

void add_sums(ScalarTable& t) {
  t.add<u32, u32, u32>("s_add_u32 s_add_co_u32", unsigned_sum<1, false>);
  t.add<u32, u32, u32>("s_sub_u32 s_sub_co_u32", unsigned_sum<-1, false>);
  t.add<u32, u32, u32>("s_addc_u32 s_add_co_ci_u32", unsigned_sum<1, true>);
  t.add<u32, u32, u32>("s_subb_u32 s_sub_co_ci_u32", unsigned_sum<-1, true>);
  t.add<u32, i32, i32>("s_add_i32 s_add_co_i32", signed_sum<1>);
  t.add<u32, i32, i32>("s_sub_i32 s_sub_co_i32", signed_sum<-1>);
  t.add<u64, u64, u64>("s_add_nc_u64", [](u64 a, u64 b, bool&) { return a + b; });
  t.add<u64, u64, u64>("s_sub_nc_u64", [](u64 a, u64 b, bool&) { return a - b; });
  t.add<u32, i32, i32>("s_absdiff_i32", [](i32 a, i32 b, bool& scc) {
    const i32 difference = i32(u32(a) - u32(b));
    scc = difference != 0;
    return difference < 0 ? 0 - u32(difference) : u32(difference);
  });
  t.add<u32, i32>("s_abs_i32", [](i32 a, bool& scc) {
    scc = a != 0;
    return a < 0 ? 0 - u32(a) : u32(a);
  });
  t.add<u32, u32, u32>("s_min_u32", order<u32, false>);
  t.add<u32, u32, u32>("s_max_u32", order<u32, true>);
  t.add<i32, i32, i32>("s_min_i32", order<i32, false>);
  t.add<i32, i32, i32>("s_max_i32", order<i32, true>);
  t.add<u32, u32, u32>("s_lshl1_add_u32", shift_add<1>);
  t.add<u32, u32, u32>("s_lshl2_add_u32", shift_add<2>);
  t.add<u32, u32, u32>("s_lshl3_add_u32", shift_add<3>);
  t.add<u32, u32, u32>("s_lshl4_add_u32", shift_add<4>);
  t.add<u32, u32, u32>("s_mul_i32", [](u32 a, u32 b, bool&) { return u32(u64(a) * b); });
  t.add<u32, u32, u32>("s_mul_hi_u32", [](u32 a, u32 b, bool&) { return u32(u64(a) * b >> 32); });
  t.add<u32, i32, i32>("s_mul_hi_i32", [](i32 a, i32 b, bool&) { return u32(std::int64_t(a) * b >> 32); });
  t.add<u64, u64, u64>("s_mul_u64", [](u64 a, u64 b, bool&) { return a * b; });
}

void add_moves(ScalarTable& t) {
  t.add<u32, u32>("s_mov_b32", [](u32 a, bool&) { return a; });
  t.add<u64, u64>("s_mov_b64", [](u64 a, bool&) { return a; });
  t.add_update<u32, u32>("s_cmov_b32", [](u32 d, u32 a, bool& scc) { return scc ? a : d; });
  t.add_update<u64, u64>("s_cmov_b64", [](u64 d, u64 a, bool& scc) { return scc ? a : d; });
  t.add<u32, u32, u32>("s_cselect_b32", [](u32 a, u32 b, bool& scc) { return scc ? a : b; });
  t.add<u64, u64, u64>("s_cselect_b64", [](u64 a, u64 b, bool& scc) { return scc ? a : b; });
  t.add_update<u32, u32>("s_movk_i32", [](u32, u32, bool&) { return 0xffff8001u; }, "%d, 0x8001");
  t.add_update<u32, u32>(
      "s_cmovk_i32", [](u32 d, u32, bool& scc) { return scc ? 0xffff8001u : d; }, "%d, 0x8001");
  t.add_update<u32, u32>(
      "s_addk_i32 s_addk_co_i32", [](u32 d, u32, bool& scc) { return signed_sum<1>(i32(d), -32767, scc); },
      "%d, 0x8001");
  t.add_update<u32, u32>("s_mulk_i32", [](u32 d, u32, bool&) { return d * u32(-32767); }, "%d, 0x8001");
}

/// The orders of two values for which a condition holds.
enum : unsigned { less = 1, equal = 2, greater = 4 };
template <class T, unsigned condition>
bool holds(T a, T b) {
  return condition & (a < b ? less : a == b ? equal : greater);
}

/// Compares two values, or a value and the immediate 0x8001, extended according to the type.
template <class T, unsigned condition>
void add_comparison(ScalarTable& t, const std::string& name) {
  t.compare<T, T>("s_cmp_" + name, holds<T, condition>);
  constexpr T immediate = std::is_signed_v<T> ? T(-32767) : T(0x8001);
  t.compare<T, T>("s_cmpk_" + name, [](T a, T) { return holds<T, condition>(a, immediate); }, "%a, 0x8001");
}
template <class T>
void add_comparisons(ScalarTable& t, const std::string& type) {
  add_comparison<T, equal>(t, "eq_" + type);
  add_comparison<T, less | greater>(t, "lg_" + type);
  add_comparison<T, greater>(t, "gt_" + type);
  add_comparison<T, greater | equal>(t, "ge_" + type);
  add_comparison<T, less>(t, "lt_" + type);
  add_comparison<T, less | equal>(t, "le_" + type);
}

}  // namespace scalar_table

std::vector<Case> scalar_rows(const Target&) {
  using namespace scalar_table;
  ScalarTable t;
  add_sums(t);
  add_moves(t);
  add_comparisons<u32>(t, "u32");
  add_comparisons<i32>(t, "i32");
  t.compare<u64, u64>("s_cmp_eq_u64", [](u64 a, u64 b) { return a == b; });
  t.compare<u64, u64>("s_cmp_lg_u64", [](u64 a, u64 b) { return a != b; });
  t.compare<u32, u32>("s_bitcmp0_b32", [](u32 a, u32 n) { return !(a >> n % 32 & 1); });
  t.compare<u32, u32>("s_bitcmp1_b32", [](u32 a, u32 n) { return (a >> n % 32 & 1) != 0; });
  t.compare<u64, u32>("s_bitcmp0_b64", [](u64 a, u32 n) { return !(a >> n % 64 & 1); });
  t.compare<u64, u32>("s_bitcmp1_b64", [](u64 a, u32 n) { return (a >> n % 64 & 1) != 0; });
  return t.take();
}

TEST(Rows, Scalars) {
  check_table(scalar_rows);
}

}  // namespace weir::hipsim::test
