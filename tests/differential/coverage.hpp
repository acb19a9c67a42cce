// SPDX-License-Identifier: Apache-2.0
// Coverage of random kernels: the statement kinds that occurred in each lowering path, and the possible
// pairs.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <weir/device.hpp>
#include <weir/lowering.hpp>

#include "runnable_kernel.hpp"
#include "statement_kinds.hpp"

namespace weir::test {

/// One form of code on one kind of device: a lowering path, its width if relevant, or a set of assumptions
/// that a launch proved.
enum class Row : std::uint8_t {
  cpu_serial,
  cpu_scalar_loop,
  cpu_vector_loop,
  cpu_lane_loop,
  cpu_reduce,
  cpu_reduce_vector,
  cpu_reduce_final,
  cpu_private_counters,
  cpu_direct_counters,
  cpu_private_sums,
  cpu_group_loops,
  cpu_group_vectors,
  cpu_phases,
  cpu_region,
  gpu_serial,
  gpu_thread_loop,
  gpu_packets_2,
  gpu_packets_4,
  gpu_packets_8,
  gpu_packet_edges,
  gpu_shared_loops,
  gpu_tiles,
  gpu_tile_packets,
  gpu_staged_reads,
  gpu_private_counters,
  gpu_direct_counters,
  gpu_private_sums,
  gpu_reduce,
  gpu_reduce_strips,
  gpu_reduce_final,
  gpu_group_blocks,
  gpu_phases,
  gpu_region,
  gpu_long_body,
  gpu_grid_phases,
  gpu_replicated_phases,
  gpu_facts  ///< the first of eight: no_alias, index32 and aligned as bits 0, 1 and 2
};
inline constexpr std::size_t facts_rows = 8;
inline constexpr std::size_t row_count = static_cast<std::size_t>(Row::gpu_facts) + facts_rows;

std::string row_name(Row row);
inline bool is_group_row(Row row) noexcept {
  return row == Row::cpu_group_loops || row == Row::cpu_group_vectors || row == Row::gpu_group_blocks;
}
inline bool is_grid_row(Row row) noexcept {
  return row == Row::gpu_grid_phases || row == Row::gpu_replicated_phases;
}
inline bool is_gpu_row(Row row) noexcept {
  return row >= Row::gpu_serial;
}
inline bool is_reduction(Row row) noexcept {
  return row == Row::cpu_reduce || row == Row::cpu_reduce_vector || row == Row::gpu_reduce ||
         row == Row::gpu_reduce_strips;
}
/// Kernels with such code take seconds. Each of them has all kinds, so few are made.
inline bool is_rare_row(Row row) noexcept {
  return row == Row::gpu_long_body;
}
/// The reason why statements of the kind cannot occur in this form of code, or null.
const char* impossible(Row row, Kind kind) noexcept;

/// The pair that a kernel should cover.
struct Aim {
  Row row;
  Kind kind;
};
/// All possible pairs of the CPU, of GPUs, or of both.
std::vector<Aim> aims(bool cpu, bool gpu);

class Coverage {
 public:
  /// Counts one kernel after its run on `device`.
  void add(const RunnableKernel& runnable, const CompiledVariant& variant, DeviceKind device);
  /// Adds the counts written by another process.
  void read(std::istream& from);
  void write(std::ostream& to) const;

  /// The pairs, and the reductions by kind and type, that occurred in no kernel.
  std::vector<Aim> missing(bool cpu, bool gpu) const;
  std::vector<std::string> missing_reductions(bool cpu, bool gpu) const;
  /// Markdown: the counts of all pairs, and the reasons of those that are impossible.
  void print(std::ostream& to, bool cpu, bool gpu) const;

 private:
  void count(Row row, const Kinds& kinds);

  std::array<std::array<std::uint64_t, kind_count>, row_count> counts_{};
  /// By device (CPU, GPU), reduction and type.
  std::array<std::array<std::array<std::uint64_t, 12>, ir::reduce_kind_count>, 2> reductions_{};
  std::array<std::uint64_t, row_count> kernels_{};
};

}  // namespace weir::test
