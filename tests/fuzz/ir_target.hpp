// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::test {

/// Reads `data` as kernel text. Accepted text must pass the verifier or be refused with a message; a verified
/// kernel must print to the same bytes and must plan. Aborts if a condition is violated. Returns true if the
/// kernel is valid.
bool exercise_ir_text(const std::uint8_t* data, std::size_t size);

/// Generates random kernels from the choices in `data`. All must be valid; they undergo the same checks.
void exercise_random_kernel(const std::uint8_t* data, std::size_t size);

}  // namespace weir::test
