// SPDX-License-Identifier: Apache-2.0
// The forms in which generated code runs a task; they describe how a kernel was compiled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include <weir/export.hpp>

namespace weir {

/// One form of generated code. A task takes one or more of them.
enum class LoweringPath : std::uint8_t {
  serial,            ///< statements outside loops, in one thread
  scalar_loop,       ///< CPU: a loop that computes one iteration at a time
  vector_loop,       ///< CPU: a loop that computes Lowering::vector_width iterations at a time
  lane_loop,         ///< CPU: vectors hold consecutive iterations around the task's sequential loops
  thread_loop,       ///< GPU: one iteration per thread and step
  packets,           ///< GPU: Lowering::packet_width consecutive iterations per thread and step
  packet_edges,      ///< GPU: packets that reach outside the loop's bounds, one iteration at a time
  shared_loops,      ///< GPU: one sequential loop for all iterations of a packet
  tiles,             ///< GPU: blocks that cover several rows of the last two dimensions
  tile_packets,      ///< GPU: several packets per thread in each tile
  staged_reads,      ///< GPU: elements that all threads read, loaded once into the block's memory
  private_counters,  ///< additions to a small array, gathered in memory of a block, or of a CPU's thread
  direct_counters,   ///< the same additions to an array that does not fit there
  reduce_chunks,     ///< CPU: the chunks of a reduction, one after the other
  reduce_blocks,     ///< GPU: the chunks of a reduction, each by 64 threads
  reduce_strips,  ///< GPU: the chunks of a reduction, each by a block, whose threads compute 64 lanes' values
  reduce_final,   ///< the chunks' results into one, and the statements after the reduction
  group_loops,    ///< CPU: the threads of a group in loops between its barriers
  group_blocks,   ///< GPU: a block for each group
  phases,         ///< several loops, one after the other or repeatedly, in one block unless grid_phases
  private_sums,   ///< additions of floats to one element, gathered in registers
  region,         ///< the stream blocks of a region, each in a block of its own
  long_body,      ///< GPU: an iteration of many statements per thread of a small block, with loads early
  grid_phases,    ///< GPU: phases that all blocks of a cooperative launch run, with barriers of the grid
  replicated_phases,  ///< GPU: statements between loops of grid_phases, run by each block for itself
  block_counters [[deprecated("use private_counters")]] = private_counters
};
inline constexpr std::uint32_t lowering_path_count =
    static_cast<std::uint32_t>(LoweringPath::replicated_phases) + 1;

/// "vector loop", "packets", ...
WEIR_API std::string_view to_string(LoweringPath path) noexcept;

/// How one task was compiled.
struct Lowering {
  std::uint32_t paths = 0;         ///< bit n: the task takes LoweringPath n
  std::uint32_t vector_width = 1;  ///< elements in the widest vectors of its vectorised loops
  std::uint32_t packet_width = 1;  ///< iterations in its packets

  void take(LoweringPath path) noexcept { paths |= 1u << static_cast<std::uint32_t>(path); }
  bool takes(LoweringPath path) const noexcept { return paths >> static_cast<std::uint32_t>(path) & 1u; }
  friend bool operator==(const Lowering&, const Lowering&) = default;
};

/// "vector loop of 8", "packets of 4, packet edges, tiles", ...
WEIR_API std::string to_string(const Lowering& lowering);

/// The code for one set of assumptions that launches of a program satisfied.
struct CompiledVariant {
  struct Task {
    std::string symbol;
    Lowering lowering;
    std::uint32_t loops = 1;  ///< loops of the kernel that this task runs
  };
  std::string assume;       ///< the assumptions, as CompileTarget::assume takes them
  std::vector<Task> tasks;  ///< in program order
};

}  // namespace weir
