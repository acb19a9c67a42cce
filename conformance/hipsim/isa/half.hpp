// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

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

}  // namespace weir::hipsim
