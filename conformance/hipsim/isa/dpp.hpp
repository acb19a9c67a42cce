// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "isa/wave.hpp"

namespace weir::hipsim {

/// Moves the lanes of `row` as the instruction's DPP fields say, into `out` (64 lanes). Returns the lanes
/// that the instruction may write: those whose source exists, or reads as zero, and that the row and bank
/// masks name.
std::uint64_t move_lanes(const Wave& wave, const Instruction& instruction, const std::uint32_t* row,
                         std::uint32_t* out);

}  // namespace weir::hipsim
