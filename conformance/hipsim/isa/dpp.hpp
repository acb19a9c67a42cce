// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "isa/wave.hpp"

namespace weir::hipsim {

/// Moves the lanes of `row` to `out` (64 lanes) according to the instruction's DPP fields. Returns the lanes
/// that the instruction may write: those that the row and bank masks name, and whose source exists or reads
/// as zero.
std::uint64_t move_lanes(const Wave& wave, const Instruction& instruction, const std::uint32_t* row,
                         std::uint32_t* out);

}  // namespace weir::hipsim
