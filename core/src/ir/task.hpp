// SPDX-License-Identifier: Apache-2.0
// A task: the piece of a kernel that one driver launch runs. Made by passes/, compiled by codegen/, packed
// and launched by runtime/launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ir.hpp"

namespace weir::ir {

// Generated code is right for every one-dimensional grid of at least one block: it finds the loop's bounds by itself and
// shares the iterations (or the chunks of a reduction) among the blocks of the grid it was launched with.
enum class TaskKind : std::uint8_t {
  serial,          ///< the body runs once; grid 1
  parallel,        ///< the body ends in one `parallel`
  reduce_partial,  ///< the body ends in one `reduce`, whose chunks each leave a partial result in temporaries
  reduce_final     ///< combines the partials in order, then the body runs once; grid 1
};

/// One field of a task's argument block. Fields lie at multiples of their size, arrays first.
struct TaskArgument {
  enum class Kind : std::uint8_t {
    array,        ///< address of array parameter `parameter`: 8 bytes, or 16 for buffer-style devices
    temporaries,  ///< address of the launch's temporaries, likewise
    error,        ///< address of the stream's weir error record (ir/error_record.hpp), likewise
    extent,       ///< i64: extent `index` of array `parameter`
    scalar,       ///< lane `index` of scalar parameter `parameter`
    launch_key,   ///< u64, see Op::launch_key
    site_base     ///< u32: added to assert numbers, so that one record serves all kernels
  };
  Kind kind;
  std::uint16_t parameter = 0;
  std::uint8_t index = 0;
  ScalarType type = ScalarType::u64;
  std::uint32_t offset = 0;
  std::uint32_t size = 8;
};

/// How a reduction is cut, the same on every driver, so that its bits are the same too. n elements (in row-major
/// order of the loop's indices) are cut into chunks of reduce_chunk(n) consecutive ones. In a chunk, lane l of 64 takes
/// elements l, l + 64, ... in order, starting from the identity (0, the largest or smallest value, false, true); then
/// lane l takes lane l + 32, then l + 16, ... + 1. The chunks' results are combined in the same way as if they were one
/// chunk, with 1024 lanes.
inline constexpr std::uint64_t reduce_lanes = 64;
inline constexpr std::uint64_t reduce_final_lanes = 1024;
inline constexpr std::uint64_t reduce_max_chunks = 32768;
constexpr std::uint64_t reduce_chunk(std::uint64_t n) noexcept {
  const std::uint64_t even = (n + reduce_max_chunks - 1) / reduce_max_chunks;
  const std::uint64_t rounded = (even + reduce_lanes - 1) / reduce_lanes * reduce_lanes;
  return rounded < 1024 ? 1024 : rounded;
}

/// What a reduction keeps in the temporaries from its partial to its final task: the number of chunks as a u64, and from
/// reduce_header on their results, of at most 8 bytes each.
inline constexpr std::uint32_t reduce_header = 64;
inline constexpr std::uint32_t reduce_bytes = reduce_header + 8 * reduce_max_chunks;

struct Task {
  std::string name;  ///< symbol in the code object: [A-Za-z0-9_], unique in its kernel
  TaskKind kind = TaskKind::serial;
  /// Values of the task's own: pure statements, temp.load and, at the end, the loop; in serial tasks and
  /// behind a combination, any statement but loops that run in parallel. Self-contained: no value or local
  /// from another task, so that what stands behind a combination loads its result from `result_offset`.
  Block body;
  std::vector<TaskArgument> arguments;
  std::uint32_t argument_bytes = 0;  ///< multiple of 16
  std::uint32_t value_count = 0;
  std::uint32_t local_count = 0;
  std::uint32_t cost = 1;  ///< estimated operations per iteration, so that the host can choose a grid
  /// reduce tasks: where the reduce_bytes of the chunks lie in the temporaries, and where the result goes.
  std::uint32_t partials_offset = 0;
  std::uint32_t result_offset = 0;
  ScalarType reduce_type = ScalarType::f32;
  ReduceKind reduce_kind = ReduceKind::sum;
  Location location;
};

}  // namespace weir::ir
