// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "isa/numbers/numbers.hpp"
#include "isa/state/wave.hpp"

namespace weir::hipsim {

/// A 16-bit IEEE number, as bits. Arithmetic uses double, which represents every sum and product of two
/// halves exactly.
struct Half {
  std::uint16_t bits;
};

double to_double(Half h);
/// Rounds according to `rounding`, a number of the MODE register: 0 to nearest even, 1 up, 2 down, 3 to zero.
Half round_to_half(double value, unsigned rounding);
/// a * b + c, rounded once.
Half fused_half(Half a, Half b, Half c, unsigned rounding);

inline bool is_nan(Half h) {
  return (h.bits & 0x7fff) > 0x7c00;
}

// Arithmetic of single and packed operations, in the rounding and denormal modes of the wave.

/// Rounds `exact` according to the mode. If it is NaN, the first NaN among the sources is propagated as a
/// quiet NaN.
Half half_result(const Wave& w, double exact, Half a, Half b, Half c);
Half half_sum(const Wave& w, Half a, Half b);
Half half_product(const Wave& w, Half a, Half b);
/// a * b + c, with the product rounded as well.
Half half_mad(const Wave& w, Half a, Half b, Half c);
Half half_fma(const Wave& w, Half a, Half b, Half c);
Half half_extreme(const Wave& w, Half a, Half b, bool larger);
/// The smaller (or larger) one; NaN if either is NaN.
Half half_strict(const Wave& w, Half a, Half b, bool larger);
Half half_fixup(Half quotient, Half denominator, Half numerator);
inline Half negated(Half h) {
  return {std::uint16_t(h.bits ^ 0x8000)};
}

}  // namespace weir::hipsim
