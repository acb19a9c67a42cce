// SPDX-License-Identifier: Apache-2.0
// Merges neighbouring loops, so that a launch has fewer tasks and values stay in registers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/ir.hpp"
#include "passes/dependence.hpp"

namespace weir::passes {

/// How loops may be merged.
enum class Fusion : std::uint8_t {
  none,
  /// Neighbours over the same space whose dependences are within the iteration: one loop over that space.
  same_space,
  /// Then also merges neighbours over different spaces that share one index, if their dependences are within
  /// one value of it. They become one loop over that index, in which sequential loops run over the other
  /// indices.
  shared_index,
};

/// A loop of the kernel as written.
struct WrittenLoop {
  ir::Location location;
  std::vector<ir::ValueId> bounds;  ///< low0 high0 low1 high1 ...
};

/// By the first index of a merged loop: the loops that it replaces, in program order.
using MergedLoops = std::unordered_map<ir::ValueId, std::vector<WrittenLoop>>;

/// Calls action(loop) for each merged loop in the block, and in its regions and repetitions.
void for_each_merged_loop(ir::Block& block, const MergedLoops& merged,
                          const std::function<void(ir::Statement&)>& action);

/// The decision about two neighbouring loops.
struct FusionDecision {
  ir::Location first, second;  ///< of the loops
  bool merged = false;
  std::string reason;  ///< "" when merged, else why they stay apart, in words
};

struct FusedKernel {
  ir::Kernel kernel;
  MergedLoops merged;
  /// Of each pair of neighbours in each stream block. Decisions of `shared_index` replace those of
  /// `same_space`.
  std::vector<FusionDecision> decisions;
};

/// Rewrites a verified kernel. Results and failures are bit-identical in every launch that satisfies `known`.
/// A loop that can fail is merged only as the last one, so a failure skips no iteration of another loop.
///
/// Values that a loop stores and a later one loads, or that both load, stay in registers.
///
/// Loops are merged up to a size at which they still fit the registers of a GPU; larger ones stay apart.
FusedKernel fuse(const ir::Kernel& kernel, Fusion how, const FusionAssumptions& known);

// Steps of fuse() after the merges, in unroll.cpp and forward.cpp.

/// In the merged loops of `kernel`, given by their first indices, writes out sequential loops with few
/// iterations between constant bounds. Their indices become constants, so forward_stores() can distinguish
/// elements. Values that one such loop stores and a later one loads then stay in registers.
void unroll_loops(ir::Kernel& kernel, const MergedLoops& merged);

/// In the merged loops of `kernel`, given by their first indices, replaces loads of elements whose value is
/// known. It is known if the same iteration has stored or loaded it before, with nothing in between that
/// could change it. Removes stores whose element the same block changes before anything reads it. Kernels
/// that check bounds keep all loads, because each of them can fail.
void forward_stores(ir::Kernel& kernel, const MergedLoops& merged, const FusionAssumptions& known);

}  // namespace weir::passes
