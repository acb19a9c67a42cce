// SPDX-License-Identifier: Apache-2.0
// A task: the part of a kernel that one driver launch runs. Created by passes/, compiled by codegen/, packed
// and launched by runtime/launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ir.hpp"

namespace weir::ir {

// Generated code is correct for every one-dimensional grid of at least one block. It computes the loop's
// bounds and distributes the iterations (or the chunks of a reduction) over the blocks of the launched grid.
enum class TaskKind : std::uint8_t {
  serial,          ///< the body runs once; grid 1
  parallel,        ///< the body ends in one `parallel`
  reduce_partial,  ///< the body ends in one `reduce`, whose chunks each leave a partial result in scratch
                   ///< memory
  reduce_final,    ///< combines the partials in order, then the body runs once; grid 1
  /// The body holds `phase` statements, in `repeat` statements or outside, whose operands all threads
  /// compute. One block runs the phases one after the other, with a barrier after each; grid 1. The body of a
  /// phase is that of another task: of a serial one, or of one that ends in its loop. After a `reduce`, the
  /// chunks are combined: bits 32 to 63 of the phase's immediate are the offset of the partials, the others
  /// that of the result. In a `cooperative` task, all blocks of the launch share each loop, with a barrier of
  /// the grid after it. Thread 0 of block 0 runs the serial phases. Or the body is one `region`, each of
  /// whose stream blocks holds such statements; grid up to their number. Each block of the launch runs its
  /// share of them.
  phases
};

/// One field of a task's argument block. Fields are aligned to their size, arrays first.
struct TaskArgument {
  enum class Kind : std::uint8_t {
    array,       ///< address of array parameter `parameter`: 8 bytes, or 16 for buffer-style devices
    scratch,     ///< address of the launch's scratch memory, likewise
    error,       ///< address of the stream's weir error record (ir/error_record.hpp), likewise
    extent,      ///< i64: extent `index` of array `parameter`
    scalar,      ///< component `index` of scalar parameter `parameter`
    launch_key,  ///< u64, see Op::launch_key
    site_base,   ///< u32: added to site numbers, so that one record serves all kernels
    print,       ///< address of the stream's print buffer (ir/print_buffer.hpp), like `array`
    launch,      ///< u32: number of the launch, in the order of the stream; for prints
    repetition,  ///< i64: number of the repetition at depth `index`, see Op::repetition
    barrier      ///< address of word `index` of the launch's grid barriers, like `array`
  };
  Kind kind;
  std::uint16_t parameter = 0;
  std::uint8_t index = 0;
  ScalarType type = ScalarType::u64;
  std::uint32_t offset = 0;
  std::uint32_t size = 8;

  bool is_address() const noexcept {
    return kind == Kind::array || kind == Kind::scratch || kind == Kind::error || kind == Kind::print ||
           kind == Kind::barrier;
  }
};

/// The order of a reduction, the same on every driver, so that the result has the same bits. The n elements,
/// in row-major order of the loop's indices, are divided into chunks of reduce_chunk(n) consecutive elements.
/// In a chunk, lane l of 64 combines elements l, l + 64, ... in order, starting from the identity (0, the
/// largest or smallest value, false, true). Then lane l combines with lane l + 32, then with l + 16, and so
/// on down to l + 1. The chunks' results are combined in the same way as if they were one chunk, with 1024
/// lanes.
inline constexpr std::uint64_t reduce_lanes = 64;
inline constexpr std::uint64_t reduce_final_lanes = 1024;
inline constexpr std::uint64_t reduce_max_chunks = 32768;
constexpr std::uint64_t reduce_chunk(std::uint64_t n) noexcept {
  const std::uint64_t even = (n + reduce_max_chunks - 1) / reduce_max_chunks;
  const std::uint64_t rounded = (even + reduce_lanes - 1) / reduce_lanes * reduce_lanes;
  return rounded < 1024 ? 1024 : rounded;
}

/// The scratch memory of a reduction, from its partial to its final task. It holds the number of chunks as a
/// u64, and from reduce_header on their results, of at most 8 bytes each.
inline constexpr std::uint32_t reduce_header = 64;
inline constexpr std::uint32_t reduce_bytes = reduce_header + 8 * reduce_max_chunks;

/// The words of a launch on which the blocks of cooperative tasks wait for each other, a u32 each, far enough
/// apart to share no cache line. Tasks that may run at the same time use different words. The lower 31 bits
/// of a word are 0 whenever no launch uses it.
inline constexpr std::uint32_t grid_barriers = 8;
inline constexpr std::uint32_t grid_barrier_bytes = 128;

struct Task {
  std::string name;  ///< symbol in the code object: [A-Za-z0-9_], unique in its kernel
  TaskKind kind = TaskKind::serial;
  /// Values defined in the task: pure statements, scratch.load and, at the end, the loop. In serial tasks and
  /// after a combination, any statement except loops that run in parallel. Self-contained: uses no value or
  /// local of another task, so statements after a combination load its result from `result_offset`.
  Block body;
  std::vector<TaskArgument> arguments;
  std::uint32_t argument_bytes = 0;  ///< multiple of 16
  std::uint32_t value_count = 0;
  std::uint32_t local_count = 0;
  std::uint32_t cost = 1;  ///< estimated operations per iteration, so that the host can choose a grid
  bool merged = false;     ///< the loop replaces several of the kernel
  /// All blocks of a task of phases run its loops, so that they must be resident at once.
  bool cooperative = false;
  /// cooperative tasks: offsets of the values in scratch memory that other tasks of the launch read; sorted.
  std::vector<std::uint32_t> read_by_others;
  /// reduce tasks: the offset in the scratch memory of the chunks' reduce_bytes, and that of the result.
  std::uint32_t partials_offset = 0;
  std::uint32_t result_offset = 0;
  ScalarType reduce_type = ScalarType::f32;
  ReduceKind reduce_kind = ReduceKind::sum;
  Location location;
};

/// The number of a task's parts that may run at the same time: the stream blocks of its region, or 1.
inline std::size_t region_blocks(const Task& task) noexcept {
  const auto& statements = task.body.statements;
  return !statements.empty() && statements.back().op == Op::region ? statements.back().bodies.size() : 1;
}

}  // namespace weir::ir
