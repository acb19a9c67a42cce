// SPDX-License-Identifier: Apache-2.0
// Integers of 32 and 64 bits: sums, products, shifts and logic.
#include "isa/code/operations.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {
using C = const Context&;

u32 low24(u32 a) {
  return a & 0xffffff;
}
i32 signed24(u32 a) {
  return i32(a << 8) >> 8;
}
i32 saturated(i64 x) {
  return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : i32(x);
}

void define_sums(OperationTable& t) {
  t.add({"v_add_u32", "v_add_nc_u32"}, plain<u32, u32, u32>([](C c, u32 a, u32 b) {
          const u32 sum = a + b;
          return c.instruction.clamp && sum < a ? ~0u : sum;
        }));
  t.add({"v_sub_u32", "v_sub_nc_u32"},
        plain<u32, u32, u32>([](C c, u32 a, u32 b) { return c.instruction.clamp && a < b ? 0u : a - b; }));
  t.add({"v_subrev_u32", "v_subrev_nc_u32"},
        plain<u32, u32, u32>([](C c, u32 a, u32 b) { return c.instruction.clamp && b < a ? 0u : b - a; }));
  t.add({"v_add_i32", "v_add_nc_i32"}, plain<i32, i32, i32>([](C c, i32 a, i32 b) {
          return c.instruction.clamp ? saturated(i64(a) + b) : i32(u32(a) + u32(b));
        }));
  t.add({"v_sub_i32", "v_sub_nc_i32"}, plain<i32, i32, i32>([](C c, i32 a, i32 b) {
          return c.instruction.clamp ? saturated(i64(a) - b) : i32(u32(a) - u32(b));
        }));
  t.add("v_add3_u32", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return a + b + c; }));
  t.add("v_lshl_add_u32", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }));
  t.add("v_add_lshl_u32", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }));
  t.add("v_lshl_add_u64", plain<u64, u64, u32, u64>([](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }));
  t.add("v_xad_u32", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return (a ^ b) + c; }));
  t.add({"v_add_nc_u64"}, plain<u64, u64, u64>([](u64 a, u64 b) { return a + b; }));
}

void define_products(OperationTable& t) {
  t.add({"v_mul_lo_u32", "v_mul_lo_i32"}, plain<u32, u32, u32>([](u32 a, u32 b) { return a * b; }));
  t.add("v_mul_hi_u32", plain<u32, u32, u32>([](u32 a, u32 b) { return u32(u64(a) * b >> 32); }));
  t.add("v_mul_hi_i32", plain<i32, i32, i32>([](i32 a, i32 b) { return i32(i64(a) * b >> 32); }));
  t.add("v_mul_u32_u24", plain<u32, u32, u32>([](u32 a, u32 b) { return low24(a) * low24(b); }));
  t.add("v_mul_i32_i24",
        plain<u32, u32, u32>([](u32 a, u32 b) { return u32(signed24(a)) * u32(signed24(b)); }));
  t.add("v_mul_hi_u32_u24",
        plain<u32, u32, u32>([](u32 a, u32 b) { return u32(u64(low24(a)) * low24(b) >> 32); }));
  t.add("v_mul_hi_i32_i24",
        plain<u32, u32, u32>([](u32 a, u32 b) { return u32(i64(signed24(a)) * signed24(b) >> 32); }));
  t.add("v_mad_u32_u24", plain<u32, u32, u32, u32>([](C c, u32 x, u32 y, u32 z) {
          const u64 exact = u64(low24(x)) * low24(y) + z;
          return c.instruction.clamp && exact >> 32 ? ~0u : u32(exact);
        }));
  t.add("v_mad_i32_i24", plain<u32, u32, u32, i32>([](C c, u32 x, u32 y, i32 z) {
          const i64 exact = i64(signed24(x)) * signed24(y) + z;
          return u32(c.instruction.clamp ? saturated(exact) : i32(exact));
        }));
  t.add("v_mad_u32_u16", plain<u32, u16, u16, u32>([](u16 a, u16 b, u32 c) { return u32(a) * b + c; }));
  t.add("v_mad_i32_i16", plain<u32, i16, i16, u32>([](i16 a, i16 b, u32 c) { return u32(i32(a) * b) + c; }));
}

void define_shifts(OperationTable& t) {
  t.add("v_lshlrev_b32", plain<u32, u32, u32>([](u32 n, u32 a) { return a << (n & 31); }));
  t.add("v_lshrrev_b32", plain<u32, u32, u32>([](u32 n, u32 a) { return a >> (n & 31); }));
  t.add("v_ashrrev_i32", plain<i32, u32, i32>([](u32 n, i32 a) { return a >> (n & 31); }));
  t.add("v_lshlrev_b64", plain<u64, u32, u64>([](u32 n, u64 a) { return a << (n & 63); }));
  t.add("v_lshrrev_b64", plain<u64, u32, u64>([](u32 n, u64 a) { return a >> (n & 63); }));
  t.add("v_ashrrev_i64", plain<i64, u32, i64>([](u32 n, i64 a) { return a >> (n & 63); }));
  t.add("v_lshl_or_b32", plain<u32, u32, u32, u32>([](u32 a, u32 n, u32 c) { return (a << (n & 31)) | c; }));
  t.add("v_alignbit_b32",
        plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 n) { return u32((u64(a) << 32 | b) >> (n & 31)); }));
  t.add("v_alignbyte_b32", plain<u32, u32, u32, u32>(
                               [](u32 a, u32 b, u32 n) { return u32((u64(a) << 32 | b) >> 8 * (n & 3)); }));
}

void define_logic(OperationTable& t) {
  t.add({"v_mov_b32", "v_dual_mov_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"},
        plain<u32, u32>([](u32 a) { return a; }));
  t.add("v_mov_b64", plain<u64, u64>([](u64 a) { return a; }));
  t.add("v_not_b32", plain<u32, u32>([](u32 a) { return ~a; }));
  t.add("v_and_b32", plain<u32, u32, u32>([](u32 a, u32 b) { return a & b; }));
  t.add("v_or_b32", plain<u32, u32, u32>([](u32 a, u32 b) { return a | b; }));
  t.add("v_xor_b32", plain<u32, u32, u32>([](u32 a, u32 b) { return a ^ b; }));
  t.add("v_xnor_b32", plain<u32, u32, u32>([](u32 a, u32 b) { return ~(a ^ b); }));
  t.add("v_and_or_b32", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return (a & b) | c; }));
  t.add("v_or3_b32", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return a | b | c; }));
  t.add("v_xor3_b32", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return a ^ b ^ c; }));
}

template <class T>
T middle(T a, T b, T c) {
  const T low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

template <class T>
void define_order(OperationTable& t, const std::string& suffix) {
  t.add("v_min_" + suffix, plain<T, T, T>([](T a, T b) { return a < b ? a : b; }));
  t.add("v_max_" + suffix, plain<T, T, T>([](T a, T b) { return a > b ? a : b; }));
  t.add("v_min3_" + suffix, plain<T, T, T, T>([](T a, T b, T c) {
          const T d = a < b ? a : b;
          return d < c ? d : c;
        }));
  t.add("v_max3_" + suffix, plain<T, T, T, T>([](T a, T b, T c) {
          const T d = a > b ? a : b;
          return d > c ? d : c;
        }));
  t.add("v_med3_" + suffix, plain<T, T, T, T>([](T a, T b, T c) { return middle(a, b, c); }));
  t.add("v_minmax_" + suffix, plain<T, T, T, T>([](T a, T b, T c) {
          const T d = a < b ? a : b;
          return d > c ? d : c;
        }));
  t.add("v_maxmin_" + suffix, plain<T, T, T, T>([](T a, T b, T c) {
          const T d = a > b ? a : b;
          return d < c ? d : c;
        }));
}

}  // namespace

void define_integer(OperationTable& t) {
  define_sums(t);
  define_products(t);
  define_shifts(t);
  define_logic(t);
  define_order<u32>(t, "u32");
  define_order<i32>(t, "i32");
}

}  // namespace weir::hipsim::HIPSIM_SIMD
