// SPDX-License-Identifier: Apache-2.0
// Operations with a lane mask as source or result: carries, wide multiply-add, selections.
#include "isa/code/operations.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {

/// A lane mask among the sources.
u64 mask_source(const Wave& w, const Operand& o) {
  if (o.kind == OperandKind::sgpr) return w.mask_at(o.index);
  return o.kind == OperandKind::constant ? o.k64 : 0;
}

enum class Sum { add, subtract, subtract_reversed };

/// The carry out of the highest bit of x + y + carry, or the borrow of x - y - carry; `all` is that result.
/// Uses bit operations only, so that the loops below vectorise.
template <class U>
constexpr U carry_of(U x, U y, U all) {
  return ((x & y) | ((x | y) & ~all)) >> (sizeof(U) * 8 - 1);
}
template <class U>
constexpr U borrow_of(U x, U y, U all) {
  return ((~x & y) | ((~x | y) & all)) >> (sizeof(U) * 8 - 1);
}

// Processes 32 lanes; returns their carries.
template <Sum kind>
u32 sum_of_32(const u32* a, const u32* b, u32 in, bool clamp, u32* __restrict out) {
  u32 carries = 0;
  for (unsigned l = 0; l < 32; ++l) {
    const u32 c = in >> l & 1;
    const u32 x = kind == Sum::subtract_reversed ? b[l] : a[l],
              y = kind == Sum::subtract_reversed ? a[l] : b[l];
    const u32 all = kind == Sum::add ? x + y + c : x - y - c;
    out[l] = all;
    carries |= (kind == Sum::add ? carry_of(x, y, all) : borrow_of(x, y, all)) << l;
  }
  if (clamp)
    for (unsigned l = 0; l < 32; ++l)
      if (carries >> l & 1) out[l] = kind == Sum::add ? ~0u : 0;
  return carries;
}

template <Sum kind, bool carry_in>
void sum(Wave& w, const Instruction& i) {
  const Source<u32> first(w, i, 0), second(w, i, 1);
  const u64 in = carry_in ? mask_source(w, i.src[2]) : 0;
  alignas(64) u32 out[64];
  u64 carries = 0;
  for (unsigned half = 0; half < w.lanes; half += 32)
    carries |= u64(sum_of_32<kind>(first.lanes() + half, second.lanes() + half, u32(in >> half), i.clamp,
                                   out + half))
               << half;
  const u64 mask = write_mask(w, i);
  if (i.dst_part != Part::all)
    commit_part(w, i, out, mask);
  else
    commit_row(w, i.dst[0].index, out, mask);
  if (i.dst[1]) w.set_mask(i.dst[1].index, carries & mask);
}

template <bool is_signed>
u32 multiply_add_32(const u32* a, const u32* b, const u64* c, u64* __restrict out) {
  u64 carries = 0;
  for (u64 l = 0; l < 32; ++l) {
    const u64 product = is_signed ? u64(i64(i32(a[l])) * i32(b[l])) : u64(a[l]) * b[l];
    const u64 all = product + c[l];
    out[l] = all;
    carries |= (is_signed ? ((product ^ all) & (c[l] ^ all)) >> 63 : carry_of(product, c[l], all)) << l;
  }
  return u32(carries);
}

template <bool is_signed>
void multiply_add(Wave& w, const Instruction& i) {
  const Source<u32> first(w, i, 0), second(w, i, 1);
  const Source<u64> third(w, i, 2);
  alignas(64) u64 out[64];
  u64 carries = 0;
  for (unsigned half = 0; half < w.lanes; half += 32)
    carries |= u64(multiply_add_32<is_signed>(first.lanes() + half, second.lanes() + half,
                                              third.lanes() + half, out + half))
               << half;
  const u64 mask = write_mask(w, i);
  commit<u64>(w, i, out);
  if (i.dst[1]) w.set_mask(i.dst[1].index, carries & mask);
}

/// `implicit`: the mask is VCC, which the text omits.
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
