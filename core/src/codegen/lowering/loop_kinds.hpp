// SPDX-License-Identifier: Apache-2.0
// The lowerings of a task's loops, each in the file of its name. task_loops.cpp chooses among them.
#pragma once

#include <cstddef>
#include <functional>

#include "codegen/lowering/loops.hpp"
#include "codegen/lowering/reduction.hpp"

namespace weir::codegen {

/// The body of a task of phases: one block runs several loops, one after the other and repeatedly; see
/// ir::TaskKind::phases. `around` belongs to the task. (phases.cpp)
void lower_phases(TaskFunction& f, Iteration& around);

/// Lowers a group loop that ir::split_group has split: a block, or on devices without threads() the caller,
/// runs a share of the groups. (group_loops.cpp)
void lower_group_loop(TaskFunction& f, const Iteration& around, const ir::Statement& loop);

/// A parallel loop of devices with many threads: adjacent threads take adjacent iterations, or packets of
/// them, and advance by the number of threads of the grid. (threads/thread_loops.cpp)
void lower_thread_loop(TaskFunction& f, const Iteration& around, const ir::Statement& loop);

/// A parallel loop of devices on which one thread runs a consecutive share of the iterations. Rows are
/// segments of consecutive iterations with the same outer indices. The inner loop over a segment is the loop
/// that LLVM vectorises. (host/host_loops.cpp)
void lower_host_loop(TaskFunction& f, const Iteration& around, const ir::Statement& loop);

/// Whether the iterations of a loop over independent iterations should run in the lanes of vectors although
/// each contains loops. The body must be straight code and `for` loops whose bounds are the same in all
/// iterations. It must access memory at addresses that are the same for all lanes, or consecutive. Returns
/// the bytes of the widest scalar that the body uses, or 0 for no. (host/lane_loops.cpp)
std::size_t widest_scalar_of_lane_loop(const ir::Kernel& kernel, const ir::Statement& loop);

/// Whether LLVM's vector code, with gathers and scatters, is slower than scalar code because consecutive
/// iterations access elements of different rows. That is so for elements of one or two bytes, and for stores
/// with few operations between them. The many operations of merged loops outweigh this.
/// (host/strided_accesses.cpp)
bool is_slower_in_vectors(const ir::Kernel& kernel, const ir::Statement& loop);

/// Reduces each chunk to its partial result, on devices on which one thread runs a consecutive share of the
/// chunks. (host/host_reduction.cpp)
void reduce_on_host(TaskFunction& f, const Reduction& how, const Iteration& around,
                    const ir::Statement& loop);
/// Reduces the partial results to the result.
void combine_chunks_on_host(TaskFunction& f, const Reduction& how, llvm::Value* chunks);

/// Whether the prints of a loop can come after all of its iterations, in a loop that computes their values
/// again. Each must be in an `if` of the body that does nothing else and prints in one of its branches.
/// What they load must not be stored to later in the iteration, and no iteration may end early.
/// (host/late_prints.cpp)
bool prints_can_be_late(const ir::Kernel& kernel, const ir::Statement& loop, bool no_alias);

/// For loops that count in an array (ir/additions.hpp). Calls `walk` for code that counts in memory of the
/// block, or of a CPU's thread, and again for code that counts in the array. The array's extent and the
/// length of the loop select the code at run time: private counters are used where adding them up costs less
/// than they save. (private_counters.cpp)
void count_privately(TaskFunction& f, const Iteration& around, const Space& space, std::uint32_t array,
                     const std::function<void(const Iteration&)>& walk);

/// For loops whose iterations add floats to one element (ir/additions.hpp). Calls `walk` for code in which
/// each thread adds in a register. After it, the threads of a block add their sums, and one of them adds the
/// block's sum to the element. A CPU's thread adds numbers of f32 in f64, as its share may be long. Calls
/// `walk` with `around` if the loop has no sums, or the launch may alias arrays. (private_sums.cpp)
void sum_privately(TaskFunction& f, const Iteration& around, const ir::Statement& loop,
                   const std::function<void(const Iteration&)>& walk);

}  // namespace weir::codegen
