// SPDX-License-Identifier: Apache-2.0
// Arithmetic of halves, shared by single and packed operations.
#pragma once
#include <cmath>

#include "isa/half.hpp"
#include "isa/numbers.hpp"
#include "isa/wave.hpp"

namespace weir::hipsim {

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
