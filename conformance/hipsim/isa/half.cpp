// SPDX-License-Identifier: Apache-2.0
#include "isa/half.hpp"

#include <cmath>

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

}  // namespace weir::hipsim
