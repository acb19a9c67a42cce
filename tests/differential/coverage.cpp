// SPDX-License-Identifier: Apache-2.0
#include "coverage.hpp"

#include <algorithm>
#include <istream>
#include <ostream>

#include "passes/plan.hpp"

namespace weir::test {
namespace {

using ir::Op;

constexpr std::uint64_t max_private_counters = 4096;

constexpr const char* row_names[] = {"CPU serial",
                                     "CPU scalar loop",
                                     "CPU vector loop",
                                     "CPU lane loop",
                                     "CPU reduction",
                                     "CPU reduction, vectors",
                                     "CPU after a reduction",
                                     "CPU private counters",
                                     "CPU direct counters",
                                     "CPU private sums",
                                     "CPU group loops",
                                     "CPU group loops, vectors",
                                     "CPU phases",
                                     "CPU region in one task",
                                     "GPU serial",
                                     "GPU thread loop",
                                     "GPU packets of 2",
                                     "GPU packets of 4",
                                     "GPU packets of 8",
                                     "GPU packet edges",
                                     "GPU shared loops",
                                     "GPU tiles",
                                     "GPU tile packets",
                                     "GPU staged reads",
                                     "GPU private counters",
                                     "GPU direct counters",
                                     "GPU private sums",
                                     "GPU reduction",
                                     "GPU reduction in strips",
                                     "GPU after a reduction",
                                     "GPU group blocks",
                                     "GPU phases",
                                     "GPU region in one task",
                                     "GPU long body",
                                     "GPU phases on the grid",
                                     "GPU phases in each block"};

std::size_t number(Row row) {
  return static_cast<std::size_t>(row);
}

bool one_of(Kind kind, std::initializer_list<Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool is_atomic(Kind kind) {
  return (kind >= first_atomic_kind && kind < local_array_kind) || kind == narrow_atomic_kind;
}

/// Extents of the array that the task's loop adds to; empty if there is none.
const std::vector<std::int64_t>* counted_array(const RunnableKernel& runnable, const ir::Block& block) {
  for (const ir::Statement& s : block.statements) {
    if (s.op == Op::atomic && static_cast<ir::AtomicKind>(s.immediate) == ir::AtomicKind::add)
      return &runnable.extents.at(s.index);
    for (const ir::Block& body : s.bodies)
      if (const auto* found = counted_array(runnable, body)) return found;
  }
  return nullptr;
}

std::uint32_t assumptions_of(const std::string& words) {
  std::uint32_t assumptions = 0;
  for (const char* word : {"aligned", "index32", "no_alias"})
    assumptions = assumptions << 1 | (words.find(word) != std::string::npos ? 1u : 0u);
  return assumptions;
}

/// The plan of a variant: the one whose tasks were merged from as many loops.
passes::Plan plan_of(const ir::Kernel& kernel, const CompiledVariant& variant) {
  const auto has = [&](const char* word) { return variant.assume.find(word) != std::string::npos; };
  const passes::FusionAssumptions known{.no_alias = has("no_alias"), .index32 = has("index32")};
  for (const passes::PlanOptions& options : {passes::PlanOptions{passes::Fusion::shared_index, known},
                                             passes::PlanOptions{passes::Fusion::same_space, known},
                                             passes::PlanOptions{passes::Fusion::same_space, known, true},
                                             passes::PlanOptions{passes::Fusion::none, {}, true}}) {
    passes::Plan plan = passes::make_plan(kernel, 8, options);
    const bool fits = std::equal(plan.tasks.begin(), plan.tasks.end(), variant.tasks.begin(),
                                 variant.tasks.end(), [](const auto& planned, const auto& task) {
                                   return std::max<std::size_t>(planned.merged.size() + planned.phases.size(),
                                                                1) == task.loops;
                                 });
    if (fits) return plan;
  }
  return passes::make_plan(kernel, 8);
}

}  // namespace

std::string row_name(Row row) {
  if (row < Row::gpu_facts) return row_names[number(row)];
  const std::size_t assumptions = number(row) - number(Row::gpu_facts);
  std::string words;
  for (const auto& [bit, word] : {std::pair{1, "no_alias"}, {2, "index32"}, {4, "aligned"}})
    if (assumptions & std::size_t(bit)) words += std::string(words.empty() ? "" : ", ") + word;
  return "GPU launch: " + (words.empty() ? "no assumptions" : words);
}

const char* impossible(Row row, Kind kind) noexcept {
  const bool control = one_of(kind, {kind_of(Op::if_), kind_of(Op::while_), kind_of(Op::break_),
                                     kind_of(Op::continue_), assert_kind, chosen_write_kind});
  if (kind == kind_of(Op::scratch_store) && row != Row::cpu_serial && row != Row::gpu_serial &&
      row != Row::cpu_reduce_final && row != Row::gpu_reduce_final && row != Row::cpu_phases &&
      row != Row::gpu_phases && !is_grid_row(row) && row != Row::cpu_region &&
      row != Row::gpu_region && row < Row::gpu_facts)
    return "values leave a task for another one outside of loops only";
  if (is_group_kind(kind) && !is_group_row(row) && row < Row::gpu_facts) return "statements of group loops";
  if (is_wave_kind(kind) && row != Row::gpu_group_blocks)
    return "exchanges in registers of a GPU, in groups that fill whole waves";
  switch (row) {
    case Row::cpu_lane_loop:
      if (control || kind == print_kind || is_atomic(kind) || kind == kind_of(Op::philox))
        return "lane_loops.cpp takes no branch, print, atomic or random number";
      if (is_local_array_kind(kind)) return "lane_loops.cpp takes no local array";
      return nullptr;
    case Row::gpu_packets_2:
    case Row::gpu_packets_4:
    case Row::gpu_packets_8:
    case Row::gpu_packet_edges:
    case Row::gpu_tile_packets:
      // Packets of 2 and packet edges also come from loops that packets share.
      if (kind == kind_of(Op::for_) && (row == Row::gpu_packets_2 || row == Row::gpu_packet_edges))
        return nullptr;
      if (control || kind == kind_of(Op::for_)) return "packets.cpp takes straight code only";
      if (is_local_array_kind(kind)) return "packets.cpp takes no local array, whose copies fill registers";
      if (kind == kind_of(Op::philox) && row == Row::gpu_packets_8)
        return "packets.cpp: random numbers cost too much for packets this wide";
      return nullptr;
    case Row::gpu_shared_loops:
      if (is_atomic(kind)) return "packets.cpp shares no loop whose body has atomics";
      [[fallthrough]];
    case Row::gpu_staged_reads:
      if (control) return "staging.cpp and packets.cpp take straight code and loops only";
      if (is_local_array_kind(kind)) return "staging.cpp and packets.cpp take no local array";
      return nullptr;
    case Row::cpu_region:
    case Row::gpu_region:
      if (kind == print_kind) return "regions of kernels that print are no phases";
      return nullptr;
    case Row::gpu_reduce:
      if (kind == kind_of(Op::store) || kind == chosen_write_kind || is_atomic(kind) || kind == print_kind)
        return "block_reduction.cpp reduces bodies that write in strips";
      if (kind == local_matrix_kind) return "block_reduction.cpp reduces long bodies in strips";
      return nullptr;
    default:
      return nullptr;
  }
}

std::vector<Aim> aims(bool cpu, bool gpu) {
  std::vector<Aim> result;
  for (Kind kind = 0; kind < kind_count; ++kind)
    for (std::size_t r = 0; r < row_count; ++r) {
      const auto row = static_cast<Row>(r);
      if (is_kind(kind) && (is_gpu_row(row) ? gpu : cpu) && !impossible(row, kind))
        result.push_back({row, kind});
    }
  return result;
}

void Coverage::count(Row row, const Kinds& kinds) {
  ++kernels_[number(row)];
  for (Kind kind = 0; kind < kind_count; ++kind) counts_[number(row)][kind] += kinds[kind];
}

void Coverage::add(const RunnableKernel& runnable, const CompiledVariant& variant, DeviceKind device) {
  using Path = LoweringPath;
  const passes::Plan plan = plan_of(runnable.kernel, variant);
  const bool gpu = device != DeviceKind::cpu;
  Kinds all;
  for (std::size_t i = 0; i < plan.tasks.size() && i < variant.tasks.size(); ++i) {
    const ir::Task& task = plan.tasks[i].task;
    const Lowering& code = variant.tasks[i].lowering;
    const Kinds kinds = kinds_of(runnable.kernel, task);
    all |= kinds;
    const auto met = [&](Path path, Row row) {
      if (code.takes(path)) count(row, kinds);
    };
    if (task.kind == ir::TaskKind::reduce_partial) {
      const ir::Statement& loop = task.body.statements.back();
      ++reductions_[gpu][loop.index][static_cast<std::size_t>(loop.type)];
    }
    met(Path::serial, gpu ? Row::gpu_serial : Row::cpu_serial);
    if (code.takes(Path::grid_phases))
      count(Row::gpu_grid_phases, kinds);
    else
      met(Path::phases, gpu ? Row::gpu_phases : Row::cpu_phases);
    met(Path::replicated_phases, Row::gpu_replicated_phases);
    met(Path::region, gpu ? Row::gpu_region : Row::cpu_region);
    met(Path::reduce_final, gpu ? Row::gpu_reduce_final : Row::cpu_reduce_final);
    met(Path::scalar_loop, Row::cpu_scalar_loop);
    met(Path::lane_loop, Row::cpu_lane_loop);
    met(Path::group_blocks, Row::gpu_group_blocks);
    if (code.takes(Path::group_loops))
      count(code.takes(Path::vector_loop) ? Row::cpu_group_vectors : Row::cpu_group_loops, kinds);
    else if (code.takes(Path::reduce_chunks))
      met(Path::reduce_chunks, code.takes(Path::vector_loop) ? Row::cpu_reduce_vector : Row::cpu_reduce);
    else if (!code.takes(Path::reduce_final) && !code.takes(Path::serial))
      met(Path::vector_loop, Row::cpu_vector_loop);
    met(Path::thread_loop, Row::gpu_thread_loop);
    if (code.takes(Path::packets))
      count(code.packet_width == 2   ? Row::gpu_packets_2
            : code.packet_width == 4 ? Row::gpu_packets_4
                                     : Row::gpu_packets_8,
            kinds);
    met(Path::packet_edges, Row::gpu_packet_edges);
    met(Path::shared_loops, Row::gpu_shared_loops);
    met(Path::tiles, Row::gpu_tiles);
    met(Path::long_body, Row::gpu_long_body);
    met(Path::tile_packets, Row::gpu_tile_packets);
    met(Path::staged_reads, Row::gpu_staged_reads);
    met(Path::private_sums, gpu ? Row::gpu_private_sums : Row::cpu_private_sums);
    met(Path::reduce_blocks, Row::gpu_reduce);
    met(Path::reduce_strips, Row::gpu_reduce_strips);
    if (code.takes(Path::private_counters)) {
      // The launch chooses between the two, for example by the array's extent.
      const auto* extents = counted_array(runnable, task.body);
      const bool large = extents && extents->at(0) > static_cast<std::int64_t>(max_private_counters);
      const Row cpu_row = large ? Row::cpu_direct_counters : Row::cpu_private_counters;
      const Row gpu_row = large ? Row::gpu_direct_counters : Row::gpu_private_counters;
      count(gpu ? gpu_row : cpu_row, kinds);
    }
  }
  if (gpu) count(static_cast<Row>(number(Row::gpu_facts) + assumptions_of(variant.assume)), all);
}

void Coverage::read(std::istream& from) {
  const auto add = [&](std::uint64_t& to) {
    std::uint64_t more = 0;
    if (from >> more) to += more;
  };
  for (auto& row : counts_)
    for (std::uint64_t& n : row) add(n);
  for (auto& device : reductions_)
    for (auto& kind : device)
      for (std::uint64_t& n : kind) add(n);
  for (std::uint64_t& n : kernels_) add(n);
}

void Coverage::write(std::ostream& to) const {
  for (const auto& row : counts_)
    for (const std::uint64_t n : row) to << n << ' ';
  for (const auto& device : reductions_)
    for (const auto& kind : device)
      for (const std::uint64_t n : kind) to << n << ' ';
  for (const std::uint64_t n : kernels_) to << n << ' ';
  to << '\n';
}

std::vector<Aim> Coverage::missing(bool cpu, bool gpu) const {
  std::vector<Aim> result;
  for (const Aim& aim : aims(cpu, gpu))
    if (counts_[number(aim.row)][aim.kind] == 0) result.push_back(aim);
  return result;
}

std::vector<std::string> Coverage::missing_reductions(bool cpu, bool gpu) const {
  std::vector<std::string> result;
  for (std::size_t device = 0; device < 2; ++device)
    for (std::size_t kind = 0; kind < ir::reduce_kind_count; ++kind)
      for (std::size_t type = 0; type < 12; ++type) {
        const auto k = static_cast<ir::ReduceKind>(kind);
        const auto t = static_cast<ScalarType>(type);
        if ((device ? gpu : cpu) && ir::reduces(k, t) && reductions_[device][kind][type] == 0)
          result.push_back(std::string(device ? "GPU " : "CPU ") + std::string(to_string(k)) + " of " +
                           std::string(to_string(t)));
      }
  return result;
}

void Coverage::print(std::ostream& to, bool cpu, bool gpu) const {
  std::vector<Row> rows;
  for (std::size_t r = 0; r < row_count; ++r)
    if (is_gpu_row(static_cast<Row>(r)) ? gpu : cpu) rows.push_back(static_cast<Row>(r));
  to << "Tasks (launches in the rows about assumptions) by the form of their code:\n\n| form | tasks "
        "|\n|---|---|\n";
  for (const Row row : rows) to << "| " << row_name(row) << " | " << kernels_[number(row)] << " |\n";
  to << "\nTasks with a statement of the kind; - is impossible, see below.\n\n| kind |";
  for (std::size_t r = 0; r < rows.size(); ++r) to << ' ' << r + 1 << " |";
  to << "\n|---|";
  for (std::size_t r = 0; r < rows.size(); ++r) to << "---|";
  for (Kind kind = 0; kind < kind_count; ++kind) {
    if (!is_kind(kind)) continue;
    to << "\n| " << kind_name(kind) << " |";
    for (const Row row : rows)
      if (impossible(row, kind))
        to << " - |";
      else
        to << ' ' << counts_[number(row)][kind] << " |";
  }
  to << "\n\n";
  for (std::size_t r = 0; r < rows.size(); ++r) to << (r ? "; " : "") << r + 1 << ": " << row_name(rows[r]);
  to << ".\n\nReductions by kind and type:\n\n| reduction |";
  for (std::size_t type = 0; type < 12; ++type) to << ' ' << to_string(static_cast<ScalarType>(type)) << " |";
  to << "\n|---|---|---|---|---|---|---|---|---|---|---|---|---|";
  for (std::size_t device = 0; device < 2; ++device)
    for (std::size_t kind = 0; kind < ir::reduce_kind_count; ++kind) {
      if (!(device ? gpu : cpu)) continue;
      const auto k = static_cast<ir::ReduceKind>(kind);
      to << "\n| " << (device ? "GPU " : "CPU ") << to_string(k) << " |";
      for (std::size_t type = 0; type < 12; ++type)
        if (ir::reduces(k, static_cast<ScalarType>(type)))
          to << ' ' << reductions_[device][kind][type] << " |";
        else
          to << " - |";
    }
  to << "\n\nImpossible pairs:\n\n";
  for (const Row row : rows) {
    std::vector<std::pair<std::string, std::string>> reasons;  // reason, kinds
    for (Kind kind = 0; kind < kind_count; ++kind) {
      const char* reason = is_kind(kind) && !is_group_kind(kind) ? impossible(row, kind) : nullptr;
      if (!reason) continue;
      auto found =
          std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == reason; });
      if (found == reasons.end()) found = reasons.insert(reasons.end(), {reason, ""});
      found->second += (found->second.empty() ? "" : ", ") + kind_name(kind);
    }
    for (const auto& [reason, kinds] : reasons)
      to << "- " << row_name(row) << ": " << kinds << ": " << reason << "\n";
  }
  to << "- All forms of loops but those of groups: shared memory, barriers, exchanges and threads that "
        "end before a barrier.\n";
}

}  // namespace weir::test
