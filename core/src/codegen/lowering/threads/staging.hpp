// SPDX-License-Identifier: Apache-2.0
// Staging: threads that run together read what all of them need, each a part, and take it from the block's
// memory.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

/// Arrays that the sequential loop `inner` in the body of a `parallel` loop reads from end to end, element k
/// in its iteration k, whichever iteration of the parallel loop it belongs to. Empty where that cannot be
/// shown, or where staging them would take too much memory.
std::vector<std::uint32_t> staged_arrays(const ir::Kernel& kernel, const ir::Statement& loop,
                                         const ir::Statement& inner, const LaunchAssumptions& assumptions);

/// Whether a `parallel` loop has such a sequential loop.
bool has_staged_arrays(const ir::Kernel& kernel, const ir::Statement& loop,
                       const LaunchAssumptions& assumptions);

/// Elements of each array that are staged at a time, a power of two.
std::uint32_t stage_length(const ir::Kernel& kernel, const std::vector<std::uint32_t>& arrays);

}  // namespace weir::codegen
