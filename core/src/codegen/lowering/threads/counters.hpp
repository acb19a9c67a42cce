// SPDX-License-Identifier: Apache-2.0
// Counters: arrays to which a loop only adds. If there are few, each block counts in its own memory and adds
// its counts to the array at the end.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/ir.hpp"

namespace weir::codegen {

/// The maximum number of counters of a block, of 4 bytes each.
inline constexpr std::uint32_t most_block_counters = 4096;

/// The array parameter whose elements a `parallel` loop counts in: 4-byte integers that it accesses only by
/// atomic additions whose old values it does not use.
std::optional<std::uint32_t> counters_of(const ir::Kernel& kernel, const ir::Statement& loop);

}  // namespace weir::codegen
