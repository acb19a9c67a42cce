// SPDX-License-Identifier: Apache-2.0
// Arithmetic of halves, shared by single and packed operations.
#pragma once
#include <cmath>

#include "isa/half.hpp"
#include "isa/numbers.hpp"
#include "isa/wave.hpp"

namespace weir::hipsim {

/// Rounds `exact` as the mode says. If it is NaN, the first NaN among the sources comes through, quiet.
Half half_result(const Wave& w, double exact, Half a, Half b, Half c);
Half half_sum(const Wave& w, Half a, Half b);
Half half_product(const Wave& w, Half a, Half b);
/// a * b + c, rounded after the product too.
Half half_mad(const Wave& w, Half a, Half b, Half c);
Half half_fma(const Wave& w, Half a, Half b, Half c);
Half half_extreme(const Wave& w, Half a, Half b, bool larger);
/// The same, but NaN if either is one.
Half half_strict(const Wave& w, Half a, Half b, bool larger);
Half half_fixup(Half quotient, Half denominator, Half numerator);
inline Half negated(Half h) {
  return {std::uint16_t(h.bits ^ 0x8000)};
}

}  // namespace weir::hipsim
