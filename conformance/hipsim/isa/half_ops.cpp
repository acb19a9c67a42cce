// SPDX-License-Identifier: Apache-2.0
#include "isa/half_ops.hpp"

namespace weir::hipsim {
namespace {

Half flushed_half(Half h, bool flush) {
  if (flush && (h.bits & 0x7c00) == 0) h.bits &= 0x8000;
  return h;
}
bool flushes_input(const Wave& w) {
  return !(w.mode >> 6 & 1);
}
bool flushes_output(const Wave& w) {
  return !(w.mode >> 7 & 1);
}
unsigned rounding(const Wave& w) {
  return w.mode >> 2 & 3;
}
Half input(const Wave& w, Half h) {
  return flushed_half(h, flushes_input(w));
}

}  // namespace

Half half_result(const Wave& w, double exact, Half a, Half b, Half c) {
  if (exact == exact) return flushed_half(round_to_half(exact, rounding(w)), flushes_output(w));
  for (Half h : {a, b, c})
    if (is_nan(h)) return {u16(h.bits | 0x200)};
  return {quiet_nan_f16};
}

Half half_sum(const Wave& w, Half a, Half b) {
  return half_result(w, to_double(input(w, a)) + to_double(input(w, b)), a, b, a);
}
Half half_product(const Wave& w, Half a, Half b) {
  return half_result(w, to_double(input(w, a)) * to_double(input(w, b)), a, b, a);
}
Half half_mad(const Wave& w, Half a, Half b, Half c) {
  const Half product = half_product(w, a, b);
  return half_result(w, to_double(product) + to_double(input(w, c)), a, b, c);
}
Half half_fma(const Wave& w, Half a, Half b, Half c) {
  const Half x = input(w, a), y = input(w, b), z = input(w, c);
  const double plain = to_double(x) * to_double(y) + to_double(z);
  if (!std::isfinite(plain)) return half_result(w, plain, a, b, c);
  return flushed_half(fused_half(x, y, z, rounding(w)), flushes_output(w));
}

Half half_extreme(const Wave& w, Half a, Half b, bool larger) {
  const auto signalling = [](Half h) { return is_nan(h) && !(h.bits & 0x200); };
  if (w.mode & mode::ieee || w.generation >= 12) {
    if (signalling(a)) return {u16(a.bits | 0x200)};
    if (signalling(b)) return {u16(b.bits | 0x200)};
  }
  if (is_nan(a)) return is_nan(b) ? Half{u16(b.bits | 0x200)} : input(w, b);
  if (is_nan(b)) return input(w, a);
  a = input(w, a), b = input(w, b);
  const double x = to_double(a), y = to_double(b);
  const bool a_below = x < y || (x == y && (a.bits & 0x8000));
  return a_below != larger ? a : b;
}

Half half_strict(const Wave& w, Half a, Half b, bool larger) {
  for (Half h : {a, b})
    if (is_nan(h)) return {u16(h.bits | 0x200)};
  return half_extreme(w, a, b, larger);
}

Half half_fixup(Half q, Half d, Half n) {
  const u16 sign = (d.bits ^ n.bits) & 0x8000;
  const auto magnitude = [](Half h) { return h.bits & 0x7fff; };
  if (is_nan(n)) return {u16(n.bits | 0x200)};
  if (is_nan(d)) return {u16(d.bits | 0x200)};
  const bool d_zero = magnitude(d) == 0, n_zero = magnitude(n) == 0;
  const bool d_infinite = magnitude(d) == 0x7c00, n_infinite = magnitude(n) == 0x7c00;
  if ((d_zero && n_zero) || (d_infinite && n_infinite)) return {0xfe00};
  if (d_zero || n_infinite) return {u16(sign | 0x7c00)};
  if (d_infinite || n_zero) return {sign};
  return {u16(sign | magnitude(q))};
}

}  // namespace weir::hipsim
