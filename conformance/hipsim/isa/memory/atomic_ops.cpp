// SPDX-License-Identifier: Apache-2.0
#include "isa/memory/atomic_ops.hpp"

#include <bit>
#include <iterator>

#include "isa/numbers/half.hpp"

namespace weir::hipsim {
namespace {

f32 single(u64 x) {
  return std::bit_cast<f32>(u32(x));
}
f64 wide(u64 x) {
  return std::bit_cast<f64>(x);
}
u64 bits(f32 x) {
  return std::bit_cast<u32>(x);
}
u64 bits(f64 x) {
  return std::bit_cast<u64>(x);
}

template <class T>
T smaller(T a, T b) {
  return a != a ? b : b != b ? a : b < a ? b : a;
}
template <class T>
T larger(T a, T b) {
  return a != a ? b : b != b ? a : b > a ? b : a;
}

u64 add_halves(u64 old, u64 data) {
  u64 result = 0;
  for (unsigned shift : {0u, 16u})
    result |= u64(round_to_half(to_double({u16(old >> shift)}) + to_double({u16(data >> shift)}), 0).bits)
              << shift;
  return result;
}
u64 add_bfloats(u64 old, u64 data) {
  u64 result = 0;
  for (unsigned shift : {0u, 16u}) {
    const f32 sum =
        std::bit_cast<f32>(u32(old >> shift << 16)) + std::bit_cast<f32>(u32(data >> shift << 16));
    const u32 raw = std::bit_cast<u32>(sum);
    const u32 rounded = sum != sum ? raw >> 16 | 0x40 : (raw + 0x7fff + (raw >> 16 & 1)) >> 16;
    result |= u64(rounded & 0xffff) << shift;
  }
  return result;
}

}  // namespace

// `expression` is the value to store; `a` is the old value, `b` the data, `c` the value to compare with.
#define OP(expression) []([[maybe_unused]] u64 a, u64 b, [[maybe_unused]] u64 c) -> u64 { return expression; }
// clang-format off
const AtomicName atomic_names[atomic_name_count] = {
    {"add", "add_u32", 4, OP(a + b)},
    {"sub", "sub_u32", 4, OP(a - b)},
    {"", "rsub_u32", 4, OP(b - a)},
    {"smin", "min_i32", 4, OP(i32(a) < i32(b) ? a : b)},
    {"umin", "min_u32", 4, OP(u32(a) < u32(b) ? a : b)},
    {"smax", "max_i32", 4, OP(i32(a) > i32(b) ? a : b)},
    {"umax", "max_u32", 4, OP(u32(a) > u32(b) ? a : b)},
    {"and", "and_b32", 4, OP(a & b)},
    {"or", "or_b32", 4, OP(a | b)},
    {"xor", "xor_b32", 4, OP(a ^ b)},
    {"inc", "inc_u32", 4, OP(u32(a) >= u32(b) ? 0 : a + 1)},
    {"dec", "dec_u32", 4, OP(u32(a) == 0 || u32(a) > u32(b) ? b : a - 1)},
    {"csub", "csub_u32", 4, OP(u32(a) < u32(b) ? 0 : a - b)},
    {"csub_clamp", "sub_clamp_u32", 4, OP(u32(a) < u32(b) ? 0 : a - b)},
    {"swap", "swap_b32", 4, OP(b)},
    {"cmpswap", "cmpswap_b32", 4, OP(u32(a) == u32(c) ? b : a), true},
    {"add_f32", "add_f32", 4, OP(bits(single(a) + single(b)))},
    {"fmin", "min_f32", 4, OP(bits(smaller(single(a), single(b))))},
    {"fmax", "max_f32", 4, OP(bits(larger(single(a), single(b))))},
    {"", "min_num_f32", 4, OP(bits(smaller(single(a), single(b))))},
    {"", "max_num_f32", 4, OP(bits(larger(single(a), single(b))))},
    {"", "min_num_f64", 8, OP(bits(smaller(wide(a), wide(b))))},
    {"", "max_num_f64", 8, OP(bits(larger(wide(a), wide(b))))},
    {"", "cond_sub_u32", 4, OP(u32(a) < u32(b) ? a : a - b)},
    {"pk_add_f16", "pk_add_f16", 4, OP(add_halves(a, b))},
    {"pk_add_bf16", "pk_add_bf16", 4, OP(add_bfloats(a, b))},
    {"add_x2", "add_u64", 8, OP(a + b)},
    {"sub_x2", "sub_u64", 8, OP(a - b)},
    {"", "rsub_u64", 8, OP(b - a)},
    {"smin_x2", "min_i64", 8, OP(i64(a) < i64(b) ? a : b)},
    {"umin_x2", "min_u64", 8, OP(a < b ? a : b)},
    {"smax_x2", "max_i64", 8, OP(i64(a) > i64(b) ? a : b)},
    {"umax_x2", "max_u64", 8, OP(a > b ? a : b)},
    {"and_x2", "and_b64", 8, OP(a & b)},
    {"or_x2", "or_b64", 8, OP(a | b)},
    {"xor_x2", "xor_b64", 8, OP(a ^ b)},
    {"inc_x2", "inc_u64", 8, OP(a >= b ? 0 : a + 1)},
    {"dec_x2", "dec_u64", 8, OP(a == 0 || a > b ? b : a - 1)},
    {"swap_x2", "swap_b64", 8, OP(b)},
    {"cmpswap_x2", "cmpswap_b64", 8, OP(a == c ? b : a), true},
    {"add_f64", "add_f64", 8, OP(bits(wide(a) + wide(b)))},
    {"min_f64", "min_f64", 8, OP(bits(smaller(wide(a), wide(b))))},
    {"max_f64", "max_f64", 8, OP(bits(larger(wide(a), wide(b))))},
    {"fmin_x2", "", 8, OP(bits(smaller(wide(a), wide(b))))},
    {"fmax_x2", "", 8, OP(bits(larger(wide(a), wide(b))))},
};
// clang-format on
#undef OP

}  // namespace weir::hipsim
