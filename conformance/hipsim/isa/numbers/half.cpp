// SPDX-License-Identifier: Apache-2.0
#include "isa/numbers/half.hpp"

namespace weir::hipsim {

double to_double(Half h) {
  const unsigned exponent = h.bits >> 10 & 31, fraction = h.bits & 0x3ff;
  const std::uint64_t sign = std::uint64_t(h.bits >> 15) << 63;
  if (exponent == 31)
    return std::bit_cast<double>(sign | 0x7ff0000000000000ull | std::uint64_t(fraction) << 42);
  if (exponent == 0) {
    const double magnitude = double(fraction) * 0x1p-24;
    return std::bit_cast<double>(sign | std::bit_cast<std::uint64_t>(magnitude));
  }
  return std::bit_cast<double>(sign | std::uint64_t(exponent - 15 + 1023) << 52 |
                               std::uint64_t(fraction) << 42);
}

Half round_to_half(double value, unsigned rounding) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = bits >> 63;
  const std::uint16_t sign = negative ? 0x8000 : 0;
  const int exponent = int(bits >> 52 & 0x7ff) - 1023;
  std::uint64_t fraction = bits & 0xfffffffffffffull;
  if (exponent == 1024) return {std::uint16_t(sign | 0x7c00 | (fraction ? 0x200 | (fraction >> 42) : 0))};
  const auto round_up = [&](bool odd, bool half, bool below) {
    switch (rounding) {
      case 0:
        return half && (below || odd);
      case 1:
        return !negative && (half || below);
      case 2:
        return negative && (half || below);
      default:
        return false;
    }
  };
  const bool largest_stays = rounding == 3 || (rounding == 1 && negative) || (rounding == 2 && !negative);
  if (exponent > 15) return {std::uint16_t(sign | (largest_stays ? 0x7bff : 0x7c00))};
  if (exponent < -26) return {std::uint16_t(sign | (value != 0 && round_up(false, false, true) ? 1 : 0))};
  fraction |= 1ull << 52;
  const int shift = exponent >= -14 ? 42 : 42 + (-14 - exponent);
  const std::uint64_t kept = fraction >> shift, rest = fraction & ((1ull << shift) - 1);
  const bool half = rest >> (shift - 1) & 1, below = (rest & ((1ull << (shift - 1)) - 1)) != 0;
  std::uint64_t result = kept + (round_up(kept & 1, half, below) ? 1 : 0);
  if (exponent >= -14) result += std::uint64_t(exponent + 14) << 10;  // the hidden bit adds one more
  if (result >= 0x7c00) result = largest_stays ? 0x7bff : 0x7c00;
  return {std::uint16_t(sign | result)};
}

Half fused_half(Half a, Half b, Half c, unsigned rounding) {
  const double product = to_double(a) * to_double(b), addend = to_double(c);
  double sum = product + addend;
  if (!std::isfinite(sum)) return round_to_half(sum, rounding);
  // The bits that the sum lost matter only as a sticky bit, so they are folded into the last bit (round to
  // odd).
  const double part = sum - product;
  const double lost = (product - (sum - part)) + (addend - part);
  if (lost != 0) {
    auto bits = std::bit_cast<std::uint64_t>(sum);
    if ((bits & 1) == 0) {
      const bool towards_zero = (lost < 0) != (sum < 0);
      bits += towards_zero ? std::uint64_t(-1) : 1;
      if (towards_zero && (bits & 1) == 0) bits |= 1;
    }
    sum = std::bit_cast<double>(bits);
  }
  return round_to_half(sum, rounding);
}

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
