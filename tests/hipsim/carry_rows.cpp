// SPDX-License-Identifier: Apache-2.0
// Operations with a lane mask as source or result: carries, wide products, selections, and division's steps.
#include <gtest/gtest.h>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace carry_table {

/// A 33-bit sum or difference; the top bit is the carry or borrow.
template <int sign, bool reversed, bool carries>
u32 sum(Lane& l, u32 a, u32 b) {
  if (reversed) std::swap(a, b);
  const std::int64_t exact = std::int64_t(a) + sign * (std::int64_t(b) + (carries && l.carry));
  l.flag = exact < 0 || exact > 0xffffffffll;
  if (l.clamp && l.flag) return sign > 0 ? ~0u : 0;
  return u32(exact);
}

template <int sign, bool reversed>
void add_sums(VectorTable& t, const std::string& plain, const std::string& with_carry) {
  t.add<u32, u32, u32>(plain, sum<sign, reversed, false>,
                       {.text = "%d, %m, %a, %b", .clamps = true, .flags = FlagsTo::scalars});
  t.add<u32, u32, u32>(plain, sum<sign, reversed, false>, {.text = "%d, %v, %a, %b", .flags = FlagsTo::vcc});
  t.add<u32, u32, u32>(with_carry, sum<sign, reversed, true>,
                       {.text = "%d, %m, %a, %b, %n", .clamps = true, .flags = FlagsTo::scalars});
  t.add<u32, u32, u32>(with_carry, sum<sign, reversed, true>,
                       {.text = "%d, %v, %a, %b, %v", .flags = FlagsTo::vcc});
}

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

/// a * b + c in 64 bits, and whether the sum overflowed.
u64 wide_unsigned(Lane& l, u32 a, u32 b, u64 c) {
  const auto exact = Wide(u64(a) * b) + c;
  l.flag = exact >> 64 != 0;
  return u64(exact);
}
u64 wide_signed(Lane& l, i32 a, i32 b, i64 c) {
  const auto exact = SignedWide(std::int64_t(a) * b) + c;
  l.flag = exact != SignedWide(i64(exact));
  return u64(exact);
}

}  // namespace carry_table

std::vector<Case> carry_rows(const Target& target) {
  using namespace carry_table;
  VectorTable t(target);
  add_sums<1, false>(t, "v_add_co_u32", "v_addc_co_u32 v_add_co_ci_u32");
  add_sums<-1, false>(t, "v_sub_co_u32", "v_subb_co_u32 v_sub_co_ci_u32");
  add_sums<-1, true>(t, "v_subrev_co_u32", "v_subbrev_co_u32 v_subrev_co_ci_u32");
  const Form wide{.text = "%d, %m, %a, %b, %c", .flags = FlagsTo::scalars};
  t.add<u64, u32, u32, u64>("v_mad_u64_u32 v_mad_co_u64_u32", wide_unsigned, wide);
  t.add<u64, i32, i32, i64>("v_mad_i64_i32 v_mad_co_i64_i32", wide_signed, wide);
  t.add<u32, u32, u32>("v_cndmask_b32", [](Lane& l, u32 a, u32 b) { return l.carry ? b : a; },
                       {.text = "%d, %a, %b, %n"});
  t.add<u32, u32, u32>("v_cndmask_b32", [](Lane& l, u32 a, u32 b) { return l.carry ? b : a; },
                       {.text = "%d, %a, %b, %v"});
  t.add<u16, u16, u16>("v_cndmask_b16", [](Lane& l, u16 a, u16 b) { return l.carry ? b : a; },
                       {.text = "%d, %a, %b, %n"});
  return t.take();
}

TEST(Rows, Carries) {
  check_table(carry_rows);
}

}  // namespace weir::hipsim::test
