// SPDX-License-Identifier: Apache-2.0
// Integers of 32 and 64 bits: sums, products, shifts, logic and order.
#include <gtest/gtest.h>

#include <algorithm>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace vector_integer_table {

/// The low 32 bits, or the saturated value if the instruction clamps.
template <class T>
T within(const Lane& lane, std::int64_t exact) {
  using Limits = std::numeric_limits<T>;
  if (lane.clamp) exact = std::clamp<std::int64_t>(exact, Limits::min(), Limits::max());
  return T(exact);
}
std::int64_t low24(u32 x) {
  return x % (1u << 24);
}
std::int64_t signed24(u32 x) {
  const std::int64_t low = low24(x);
  return low >= 1 << 23 ? low - (1 << 24) : low;
}

void add_sums(VectorTable& t) {
  const Form clamps{.clamps = true};
  t.add<u32, u32, u32>(
      "v_add_u32 v_add_nc_u32", [](Lane& l, u32 a, u32 b) { return within<u32>(l, std::int64_t(a) + b); },
      clamps);
  t.add<u32, u32, u32>(
      "v_sub_u32 v_sub_nc_u32", [](Lane& l, u32 a, u32 b) { return within<u32>(l, std::int64_t(a) - b); },
      clamps);
  t.add<u32, u32, u32>(
      "v_subrev_u32 v_subrev_nc_u32",
      [](Lane& l, u32 a, u32 b) { return within<u32>(l, std::int64_t(b) - a); }, clamps);
  t.add<i32, i32, i32>(
      "v_add_i32 v_add_nc_i32", [](Lane& l, i32 a, i32 b) { return within<i32>(l, std::int64_t(a) + b); },
      clamps);
  t.add<i32, i32, i32>(
      "v_sub_i32 v_sub_nc_i32", [](Lane& l, i32 a, i32 b) { return within<i32>(l, std::int64_t(a) - b); },
      clamps);
  t.add<u32, u32, u32, u32>("v_add3_u32", [](u32 a, u32 b, u32 c) { return a + b + c; });
  t.add<u32, u32, u32, u32>("v_lshl_add_u32", [](u32 a, u32 b, u32 c) { return (a << b % 32) + c; });
  t.add<u32, u32, u32, u32>("v_add_lshl_u32", [](u32 a, u32 b, u32 c) { return (a + b) << c % 32; });
  t.add<u64, u64, u32, u64>("v_lshl_add_u64", [](u64 a, u32 b, u64 c) { return (a << b % 8) + c; });
  t.add<u32, u32, u32, u32>("v_xad_u32", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; });
}

void add_products(VectorTable& t) {
  t.add<u32, u32, u32>("v_mul_lo_u32", [](u32 a, u32 b) { return u32(u64(a) * b); });
  t.add<u32, u32, u32>("v_mul_hi_u32", [](u32 a, u32 b) { return u32(u64(a) * b >> 32); });
  t.add<i32, i32, i32>("v_mul_hi_i32", [](i32 a, i32 b) { return i32(std::int64_t(a) * b >> 32); });
  t.add<u32, u32, u32>("v_mul_u32_u24", [](u32 a, u32 b) { return u32(low24(a) * low24(b)); });
  t.add<u32, u32, u32>("v_mul_i32_i24", [](u32 a, u32 b) { return u32(signed24(a) * signed24(b)); });
  t.add<u32, u32, u32>("v_mul_hi_u32_u24", [](u32 a, u32 b) { return u32(low24(a) * low24(b) >> 32); });
  t.add<u32, u32, u32>("v_mul_hi_i32_i24", [](u32 a, u32 b) { return u32(signed24(a) * signed24(b) >> 32); });
  const Form clamps{.clamps = true};
  t.add<u32, u32, u32, u32>(
      "v_mad_u32_u24", [](Lane& l, u32 a, u32 b, u32 c) { return within<u32>(l, low24(a) * low24(b) + c); },
      clamps);
  t.add<i32, u32, u32, i32>(
      "v_mad_i32_i24",
      [](Lane& l, u32 a, u32 b, i32 c) { return within<i32>(l, signed24(a) * signed24(b) + c); }, clamps);
  t.add<u32, u16, u16, u32>("v_mad_u32_u16", [](u16 a, u16 b, u32 c) { return u32(a) * b + c; });
  t.add<u32, i16, i16, u32>("v_mad_i32_i16", [](i16 a, i16 b, u32 c) { return u32(i32(a) * b) + c; });
}

void add_shifts(VectorTable& t) {
  t.add<u32, u32, u32>("v_lshlrev_b32", [](u32 n, u32 a) { return a << n % 32; });
  t.add<u32, u32, u32>("v_lshrrev_b32", [](u32 n, u32 a) { return a >> n % 32; });
  t.add<i32, u32, i32>("v_ashrrev_i32", [](u32 n, i32 a) { return a >> n % 32; });
  t.add<u64, u32, u64>("v_lshlrev_b64", [](u32 n, u64 a) { return a << n % 64; });
  t.add<u64, u32, u64>("v_lshrrev_b64", [](u32 n, u64 a) { return a >> n % 64; });
  t.add<i64, u32, i64>("v_ashrrev_i64", [](u32 n, i64 a) { return a >> n % 64; });
  t.add<u32, u32, u32, u32>("v_lshl_or_b32", [](u32 a, u32 n, u32 c) { return a << n % 32 | c; });
  t.add<u32, u32, u32, u32>("v_alignbit_b32",
                            [](u32 a, u32 b, u32 n) { return u32((u64(a) << 32 | b) >> n % 32); });
  t.add<u32, u32, u32, u32>("v_alignbyte_b32",
                            [](u32 a, u32 b, u32 n) { return u32((u64(a) << 32 | b) >> n % 4 * 8); });
}

void add_logic(VectorTable& t) {
  t.add<u32, u32>("v_mov_b32", [](u32 a) { return a; });
  t.add<u64, u64>("v_mov_b64", [](u64 a) { return a; });
  t.add<u32, u32>("v_not_b32", [](u32 a) { return ~a; });
  t.add<u32, u32, u32>("v_and_b32", [](u32 a, u32 b) { return a & b; });
  t.add<u32, u32, u32>("v_or_b32", [](u32 a, u32 b) { return a | b; });
  t.add<u32, u32, u32>("v_xor_b32", [](u32 a, u32 b) { return a ^ b; });
  t.add<u32, u32, u32>("v_xnor_b32", [](u32 a, u32 b) { return ~(a ^ b); });
  t.add<u32, u32, u32, u32>("v_and_or_b32", [](u32 a, u32 b, u32 c) { return (a & b) | c; });
  t.add<u32, u32, u32, u32>("v_or3_b32", [](u32 a, u32 b, u32 c) { return a | b | c; });
  t.add<u32, u32, u32, u32>("v_xor3_b32", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; });
  t.add<u32, u32, u32, u32>("v_bitop3_b32", [](u32 a, u32 b, u32 c) { return (a & b) ^ ~c; },
                            {.text = "%d, %a, %b, %c bitop3:0x95"});
}

template <class T>
void add_order(VectorTable& t, const std::string& type) {
  t.add<T, T, T>("v_min_" + type, [](T a, T b) { return std::min(a, b); });
  t.add<T, T, T>("v_max_" + type, [](T a, T b) { return std::max(a, b); });
  t.add<T, T, T, T>("v_min3_" + type, [](T a, T b, T c) { return std::min({a, b, c}); });
  t.add<T, T, T, T>("v_max3_" + type, [](T a, T b, T c) { return std::max({a, b, c}); });
  t.add<T, T, T, T>("v_med3_" + type, [](T a, T b, T c) {
    T all[] = {a, b, c};
    std::sort(all, all + 3);
    return all[1];
  });
  t.add<T, T, T, T>("v_minmax_" + type, [](T a, T b, T c) { return std::max(std::min(a, b), c); });
  t.add<T, T, T, T>("v_maxmin_" + type, [](T a, T b, T c) { return std::min(std::max(a, b), c); });
}

template <class T>
void add_short(VectorTable& t, const std::string& type) {
  const Form clamps{.clamps = true};
  Form sums = clamps;
  sums.high_open = std::is_signed_v<T>;  // new in GFX9
  t.add<T, T, T>(
      "v_add_" + type + " v_add_nc_" + type,
      [](Lane& l, T a, T b) { return within<T>(l, std::int64_t(a) + b); }, sums);
  t.add<T, T, T>(
      "v_sub_" + type + " v_sub_nc_" + type,
      [](Lane& l, T a, T b) { return within<T>(l, std::int64_t(a) - b); }, sums);
  t.add<T, T, T>(
      "v_subrev_" + type, [](Lane& l, T a, T b) { return within<T>(l, std::int64_t(b) - a); }, clamps);
  const auto mad = [](Lane& l, T a, T b, T c) { return within<T>(l, std::int64_t(a) * b + c); };
  t.add<T, T, T, T>("v_mad_" + type, mad, {.clamps = true, .clears_high = false});
  t.add<T, T, T, T>("v_mad_legacy_" + type, mad, clamps);
  t.add<T, T, T>("v_min_" + type, [](T a, T b) { return std::min(a, b); });
  t.add<T, T, T>("v_max_" + type, [](T a, T b) { return std::max(a, b); });
  const Form three{.high_open = true};
  t.add<T, T, T, T>("v_min3_" + type, [](T a, T b, T c) { return std::min({a, b, c}); }, three);
  t.add<T, T, T, T>("v_max3_" + type, [](T a, T b, T c) { return std::max({a, b, c}); }, three);
  t.add<T, T, T, T>(
      "v_med3_" + type,
      [](T a, T b, T c) { return T(std::max(std::min(a, b), std::min(std::max(a, b), c))); }, three);
}

}  // namespace vector_integer_table

std::vector<Case> integer_rows(const Target& target) {
  using namespace vector_integer_table;
  VectorTable t(target);
  add_sums(t);
  add_products(t);
  add_shifts(t);
  add_logic(t);
  add_order<u32>(t, "u32");
  add_order<i32>(t, "i32");
  return t.take();
}

std::vector<Case> short_rows(const Target& target) {
  using namespace vector_integer_table;
  VectorTable t(target);
  add_short<u16>(t, "u16");
  add_short<i16>(t, "i16");
  t.add<u16, u16, u16>("v_mul_lo_u16", [](u16 a, u16 b) { return u16(u32(a) * b); });
  t.add<u16, u16, u16>("v_lshlrev_b16", [](u16 n, u16 a) { return u16(a << n % 16); });
  t.add<u16, u16, u16>("v_lshrrev_b16", [](u16 n, u16 a) { return u16(a >> n % 16); });
  t.add<i16, u16, i16>("v_ashrrev_i16", [](u16 n, i16 a) { return i16(a >> n % 16); });
  t.add<u16, u16>("v_mov_b16", [](u16 a) { return a; });
  t.add<u16, u16>("v_not_b16", [](u16 a) { return u16(~a); });
  t.add<u16, u16, u16>("v_and_b16", [](u16 a, u16 b) { return u16(a & b); });
  t.add<u16, u16, u16>("v_or_b16", [](u16 a, u16 b) { return u16(a | b); });
  t.add<u16, u16, u16>("v_xor_b16", [](u16 a, u16 b) { return u16(a ^ b); });
  t.add<u16, u16, u16, u16>("v_bitop3_b16", [](u16 a, u16 b, u16 c) { return u16((a & b) ^ ~c); },
                            {.text = "%d, %a, %b, %c bitop3:0x95", .high_open = true});
  return t.take();
}

TEST(Rows, Integers) {
  check_table(integer_rows);
}
TEST(Rows, Shorts) {
  check_table(short_rows);
}

}  // namespace weir::hipsim::test
