// SPDX-License-Identifier: Apache-2.0
#include "isa/state/wave.hpp"

namespace weir::hipsim {

void Wave::set_mode(std::uint32_t bits) {
  mode = bits;
  // The host's control word (MXCSR): all exceptions masked; rounding in bits 13 and 14; denormals-are-zero in
  // bit 6 for inputs, bit 15 for results.
  constexpr std::uint32_t rounding[4] = {0u << 13, 2u << 13, 1u << 13, 3u << 13};
  const auto control = [&](std::uint32_t round, std::uint32_t denormals) {
    return 0x1f80u | rounding[round & 3] | (denormals & 1 ? 0 : 1u << 6) | (denormals & 2 ? 0 : 1u << 15);
  };
  float_control[unsigned(FloatGroup::none)] = 0x1f80u;
  float_control[unsigned(FloatGroup::single)] = control(bits, bits >> 4);
  float_control[unsigned(FloatGroup::half_and_double)] = control(bits >> 2, bits >> 6);
}

}  // namespace weir::hipsim
