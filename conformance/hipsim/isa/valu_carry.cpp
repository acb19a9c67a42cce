// SPDX-License-Identifier: Apache-2.0
// Operations with a lane mask as source or result: carries, wide multiply-add, selections.
#include "isa/define.hpp"
#include "isa/lanes.hpp"
#include "isa/operations.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {

/// A lane mask among the sources.
u64 mask_source(const Wave& w, const Operand& o) {
  if (o.kind == OperandKind::sgpr) return w.mask_at(o.index);
  return o.kind == OperandKind::constant ? o.k64 : 0;
}

/// Lanes' carries as a mask; lanes that are not active give 0.
u64 mask_of(const Wave& w, const u32* carries) {
  u32 low = 0, high = 0;
  for (unsigned l = 0; l < 32; ++l) low |= carries[l] ? lane_bits[l] : 0;
  if (w.lanes == 64)
    for (unsigned l = 0; l < 32; ++l) high |= carries[32 + l] ? lane_bits[l] : 0;
  return low | u64(high) << 32;
}

enum class Sum { add, subtract, subtract_reversed };

template <Sum kind, bool carry_in>
void sum(Wave& w, const Instruction& i) {
  const Source<u32> first(w, i, 0), second(w, i, 1);
  const u32 *a = first.lanes(), *b = second.lanes();
  const u64 in = carry_in ? mask_source(w, i.src[2]) : 0;
  alignas(64) u32 out[64], carry[64];
  for (unsigned l = 0; l < 64; ++l) {
    const u32 c = carry_in ? u32(in >> l & 1) : 0;
    const u32 x = kind == Sum::subtract_reversed ? b[l] : a[l],
              y = kind == Sum::subtract_reversed ? a[l] : b[l];
    if (kind == Sum::add) {
      out[l] = x + y + c;
      carry[l] = u32((u64(x) + y + c) >> 32);
    } else {
      out[l] = x - y - c;
      carry[l] = u64(y) + c > x;
    }
    if (i.clamp && carry[l]) out[l] = kind == Sum::add ? ~0u : 0;
  }
  const u64 mask = write_mask(w, i);
  if (i.dst_part != Part::all)
    commit_part(w, i, out, mask);
  else
    commit_row(w, i.dst[0].index, out, mask);
  if (i.dst[1]) w.set_mask(i.dst[1].index, mask_of(w, carry) & mask);
}

template <bool is_signed>
void multiply_add(Wave& w, const Instruction& i) {
  const Source<u32> first(w, i, 0), second(w, i, 1);
  const Source<u64> third(w, i, 2);
  alignas(64) u64 out[64];
  alignas(64) u32 carry[64];
  for (unsigned l = 0; l < 64; ++l) {
    const u32 a = first.lanes()[l], b = second.lanes()[l];
    const u64 product = is_signed ? u64(i64(i32(a)) * i32(b)) : u64(a) * b;
    out[l] = product + third.lanes()[l];
    carry[l] = is_signed ? ((product ^ out[l]) & (third.lanes()[l] ^ out[l])) >> 63 : out[l] < product;
  }
  const u64 mask = write_mask(w, i);
  commit<u64>(w, i, out);
  if (i.dst[1]) w.set_mask(i.dst[1].index, mask_of(w, carry) & mask);
}

/// `implicit`: the mask is VCC and not in the text.
template <class T, bool implicit>
void select(Wave& w, const Instruction& i) {
  const u64 mask = implicit ? w.vcc() : mask_source(w, i.src[2]);
  const Source<T> no(w, i, 0), yes(w, i, 1);
  alignas(64) u32 out[64];
  for (unsigned half = 0; half < w.lanes; half += 32) {
    const u32 m = u32(mask >> half);
    for (unsigned l = 0; l < 32; ++l)
      out[half + l] = (m & lane_bits[l]) ? yes.lanes()[half + l] : no.lanes()[half + l];
  }
  commit<T>(w, i, out);
}

}  // namespace

void define_carry(OperationTable& t) {
  t.add({"v_add_co_u32"}, scalar(2, sum<Sum::add, false>));
  t.add({"v_sub_co_u32"}, scalar(2, sum<Sum::subtract, false>));
  t.add({"v_subrev_co_u32"}, scalar(2, sum<Sum::subtract_reversed, false>));
  t.add({"v_addc_co_u32", "v_add_co_ci_u32"}, scalar(3, sum<Sum::add, true>));
  t.add({"v_subb_co_u32", "v_sub_co_ci_u32"}, scalar(3, sum<Sum::subtract, true>));
  t.add({"v_subbrev_co_u32", "v_subrev_co_ci_u32"}, scalar(3, sum<Sum::subtract_reversed, true>));
  t.add({"v_mad_u64_u32", "v_mad_co_u64_u32"}, scalar(3, multiply_add<false>));
  t.add({"v_mad_i64_i32", "v_mad_co_i64_i32"}, scalar(3, multiply_add<true>));
  t.add("v_cndmask_b32", scalar(3, select<u32, false>));
  t.add("v_cndmask_b16", scalar(3, select<u16, false>));
  t.add("v_dual_cndmask_b32", scalar(2, select<u32, true>));
}

}  // namespace weir::hipsim::HIPSIM_SIMD
