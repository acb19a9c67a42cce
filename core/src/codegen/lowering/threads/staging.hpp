// SPDX-License-Identifier: Apache-2.0
// Staging: threads that run together each load a part of the elements that all of them need, and read them
// from the block's memory.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

/// Bytes of the block's memory that one staged loop takes for each group of threads that run together.
inline constexpr std::uint32_t stage_bytes = 2048;
/// Bytes that the staged loops of a block take at most. With the most private counters they take 48 KiB,
/// which is the limit for static shared memory in CUDA.
inline constexpr std::uint32_t max_stage_bytes_of_block = 32 * 1024;

/// Arrays that the sequential loop `inner` in the body of a `parallel` loop reads completely, element k in
/// its iteration k, in every iteration of the parallel loop. Empty where that cannot be proven, or where
/// staging would take too much memory.
std::vector<std::uint32_t> staged_arrays(const ir::Kernel& kernel, const ir::Statement& loop,
                                         const ir::Statement& inner, const LaunchAssumptions& assumptions);

/// Whether a `parallel` loop has such a sequential loop.
bool has_staged_arrays(const ir::Kernel& kernel, const ir::Statement& loop,
                       const LaunchAssumptions& assumptions);

/// Elements of each array that are staged at a time, a power of two.
std::uint32_t stage_length(const ir::Kernel& kernel, const std::vector<std::uint32_t>& arrays);

}  // namespace weir::codegen
