// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::test {

/// Reads `data` as kernel text; what it accepts must verify or be refused in words, print back to the same
/// bytes, and plan. Aborts when one of these does not hold. Returns true when the text was a sound kernel.
bool exercise_ir_text(const std::uint8_t* data, std::size_t size);

/// Lets `data` steer the generator of random kernels, whose kernels must all be sound, and does the same with
/// them.
void exercise_random_kernel(const std::uint8_t* data, std::size_t size);

}  // namespace weir::test
