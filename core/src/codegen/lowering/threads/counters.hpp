// SPDX-License-Identifier: Apache-2.0
// Counters: arrays that a loop only adds to. Where they are few, each block counts in its own memory and adds
// what it has counted at the end.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/ir.hpp"

namespace weir::codegen {

/// As many as a block keeps, of 4 bytes each.
inline constexpr std::uint32_t most_block_counters = 4096;

/// The array parameter whose elements a `parallel` loop counts in: 4-byte integers that it touches by atomic
/// additions only, whose old values it does not use.
std::optional<std::uint32_t> counters_of(const ir::Kernel& kernel, const ir::Statement& loop);

}  // namespace weir::codegen
