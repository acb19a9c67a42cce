// SPDX-License-Identifier: Apache-2.0
// Chooses the plan of a launch: with each loop a task, or with merged loops.
#include <algorithm>
#include <optional>

#include "driver/environment.hpp"
#include "runtime/launch/launch_steps.hpp"

namespace weir::detail {
namespace {

using passes::Fusion;

/// Least number of values of a shared index, each of which one thread takes.
constexpr std::uint64_t min_gpu_values = 256;
constexpr std::uint64_t min_cpu_values_per_core = 256;
/// Iterations that a thread may run one after the other for each launch that it saves. A launch is about one
/// microsecond on a GPU, and an iteration 15 to 150 nanoseconds, depending on its memory accesses.
constexpr std::uint64_t iterations_per_launch = 8;

/// Addresses that are equal modulo this number conflict in a CPU.
constexpr std::uint64_t page_bytes = 4096;
/// The first cache of a CPU has places for at least 8 to 12 of them.
constexpr std::uint64_t rows_without_conflict = 12;

/// Largest loops that are phases of one block. A CPU runs a loop of that work in one block anyway.
constexpr std::uint64_t phase_operations_of_cpu = 2 * operations_per_cpu_block - 1;
/// A launch of a GPU takes as long as a phase of about this many iterations, see sdk/docs/fusion.md.
constexpr std::uint64_t phase_iterations_of_gpu = 2048, phase_operations_of_gpu = 65'536;

/// A barrier of a GPU's grid takes as long as a phase of one block of about this many iterations. On an H200
/// it takes 1.1 to 1.4 microseconds, and a barrier of a block 0.2.
constexpr std::uint64_t iterations_per_grid_barrier = phase_iterations_of_gpu;
/// Operations of an iteration that take as long as its accesses to memory.
constexpr std::uint64_t operations_per_access = phase_operations_of_gpu / phase_iterations_of_gpu;

std::size_t fusion_word() {
  static const std::size_t word =
      parse_word("WEIR_FUSION", secure_environment("WEIR_FUSION"), {"on", "same_space", "off", "always"});
  return word;
}

Fusion allowed_fusion() {
  static constexpr Fusion kinds[] = {Fusion::shared_index, Fusion::same_space, Fusion::none,
                                     Fusion::shared_index};
  return kinds[fusion_word()];
}

/// A merged plan takes the scratch memory of the separate one, so that a call of a graph can change from one
/// to the other. Null in the unlikely case that it needs more.
std::shared_ptr<const passes::Plan> with_scratch_of(const passes::Plan& separate, passes::Plan merged) {
  if (merged.scratch_bytes > separate.scratch_bytes) return nullptr;
  merged.scratch_bytes = separate.scratch_bytes;
  return std::make_shared<const passes::Plan>(std::move(merged));
}

/// Blocks of a region share no cache line of the scratch memory. So plans with more regions may need more,
/// and the plan without them then takes as much. Launches that meet fewer assumptions have other regions.
void widen_scratch(ProgramState& program, std::uint32_t bytes) {
  constexpr std::uint32_t cache_line = 64;
  if (bytes == 0) return;
  auto wider = std::make_shared<passes::Plan>(*program.plan);
  wider->scratch_bytes = bytes + cache_line * static_cast<std::uint32_t>(wider->tasks.size());
  program.plan = std::move(wider);
}

/// Whether the host computes the bounds of all loops before the launch, the same in each repetition.
bool knows_spaces(const passes::Plan& plan) {
  const auto is_known = [](const passes::LoopBounds& bounds) {
    for (std::uint8_t d = 0; d < bounds.rank; ++d)
      if (!has_host_bounds(bounds, d)) return false;
    return !bounds.vary();
  };
  return std::ranges::all_of(plan.tasks, [&](const passes::PlannedTask& planned) {
    return is_known(planned) && std::ranges::all_of(planned.phases, [&](const passes::PlannedLoop& loop) {
             return is_known(loop.bounds);
           });
  });
}

/// Whether the loops of a task are all over its own space. Merging them loses nothing.
bool is_over_one_space(const passes::PlannedTask& planned) {
  return std::ranges::all_of(
      planned.merged, [&](const passes::PlannedLoop& loop) { return loop.bounds.rank == planned.rank; });
}

/// The number of iterations of a loop for each value of the index of a merged loop without inner loops. Only
/// loops of known length were written out.
std::uint64_t iterations_per_value(const passes::PlannedLoop& loop, const passes::PlannedTask& merged) {
  std::uint64_t product = 1;
  for (std::size_t d = 0; d < loop.bounds.rank && loop.bounds.rank > merged.rank; ++d) {
    const passes::HostBound &low = loop.bounds.low[d], &high = loop.bounds.high[d];
    const bool constant =
        low.kind == passes::HostBound::Kind::constant && high.kind == passes::HostBound::Kind::constant;
    const std::int64_t count = high.constant - low.constant;
    if (constant && count < std::int64_t{min_gpu_values}) product *= static_cast<std::uint64_t>(count);
  }
  return product;
}

/// Whether a merged task takes at most half of the memory traffic of its loops, or that is unknown.
bool halves_traffic(const passes::PlannedTask& merged, const passes::Plan& separate) {
  const auto now = passes::bytes_per_iteration(merged);
  if (!now) return true;
  std::uint64_t apart = 0;
  for (const passes::PlannedLoop& loop : merged.merged) {
    const passes::PlannedTask* const task = passes::find_loop(separate, loop.location);
    const auto bytes = task ? passes::bytes_per_iteration(*task) : std::nullopt;
    if (!bytes) return true;
    apart += *bytes * iterations_per_value(loop, merged);
  }
  return 2 * *now <= apart;
}

/// The number of rows that an iteration of a merged loop without inner loops accesses.
std::uint64_t rows_in(const passes::PlannedTask& merged, const ir::Kernel& kernel) {
  std::uint64_t rows = 0;
  for (const passes::ArrayTraffic& array : merged.traffic)
    rows += std::max(array.read, array.written) / size_of(kernel.parameters[array.parameter].element.scalar);
  return rows;
}

/// Whether all rows of all arrays begin at the same offset in pages. Elements of one column then share few
/// lines of a CPU's first cache, and loads of some wait for stores to others.
bool rows_conflict(const LaunchValues& values) noexcept {
  bool some = false;
  for (const LaunchArgument& argument : values.arguments) {
    const AnyArrayView* const view = argument.array;
    if (!view || view->rank() < 2) continue;
    const std::uint64_t bytes = std::uint64_t(view->extent(view->rank() - 1)) * view->element().size();
    if (bytes % page_bytes != 0) return false;
    some = true;
  }
  return some;
}

}  // namespace

bool merges_always() {
  return fusion_word() == 3;
}

void prepare_fusion(ProgramState& program) {
  const Fusion allowed = allowed_fusion();
  program.cooperates =
      fusion_word() != 2 && std::ranges::any_of(program.plan->tasks, [](const auto& planned) {
        return planned.task.kind == ir::TaskKind::phases;
      });
  if (allowed == Fusion::none || program.kernel->options.no_fusion) return;
  const auto& tasks = program.plan->tasks;
  const auto is_loop = [](const passes::PlannedTask& planned) { return planned.rank != 0; };
  if (std::count_if(tasks.begin(), tasks.end(), is_loop) < 2 && program.plan->repeats.empty()) return;
  program.has_known_spaces = knows_spaces(*program.plan);
  // Lines of prints would be in the order of the phases.
  program.may_have_phases =
      allowed == Fusion::shared_index && !program.plan->prints && !program.kernel->options.no_phases;
  const bool concurrency = allowed == Fusion::shared_index && !program.kernel->options.no_concurrency;
  const auto plan_with = [&](Fusion fusion) {
    return passes::make_plan(
        *program.kernel, 8,
        {.fusion = fusion, .known = {.no_alias = true, .index32 = true}, .concurrency = concurrency});
  };
  passes::Plan same = plan_with(Fusion::same_space);
  std::optional<passes::Plan> shared;
  if (allowed == Fusion::shared_index) shared = plan_with(Fusion::shared_index);
  program.concurrent = same.has_independent || (shared && shared->has_independent);
  if (program.concurrent)
    widen_scratch(program,
                  std::max({program.plan->scratch_bytes, same.scratch_bytes, shared->scratch_bytes}));

  program.same_plan = with_scratch_of(*program.plan, std::move(same));
  program.merges = program.same_plan && program.same_plan->has_merged;
  if (shared && !(program.same_plan && shared->tasks.size() == program.same_plan->tasks.size()))
    program.shared_plan = with_scratch_of(*program.plan, *std::move(shared));
  if (!program.shared_plan) {
    if (!program.merges && !program.concurrent) program.same_plan = nullptr;  // no launch takes it
    return;
  }
  program.merges = true;
  program.shares_on_cpus =
      merges_always() || std::ranges::none_of(program.shared_plan->tasks, [](const auto& planned) {
        return planned.keeps_loops && !is_over_one_space(planned);
      });
  program.shares_conflicting_rows =
      merges_always() || std::ranges::all_of(program.shared_plan->tasks, [&](const auto& planned) {
        return is_over_one_space(planned) || rows_in(planned, *program.kernel) <= rows_without_conflict ||
               halves_traffic(planned, *program.plan);
      });
}

bool has_phases(const ProgramState& program) {
  if (!program.may_have_phases) return false;
  if (const signed char found = program.phases_found.load(std::memory_order_relaxed); found >= 0)
    return found;
  const bool found =
      !program.plan->repeats.empty() ||
      passes::make_plan(*program.kernel, 8, {.phases = true}).tasks.size() < program.plan->tasks.size();
  program.phases_found.store(found, std::memory_order_relaxed);
  return found;
}

std::shared_ptr<const passes::Plan> separate_plan(const ProgramState& program, std::uint32_t address_bytes) {
  if (address_bytes == 8) return program.plan;
  passes::Plan plan = passes::make_plan(*program.kernel, address_bytes);
  plan.scratch_bytes = std::max(plan.scratch_bytes, program.plan->scratch_bytes);
  return std::make_shared<const passes::Plan>(std::move(plan));
}

std::shared_ptr<const passes::Plan> plan_apart(const ProgramState& program, std::uint32_t address_bytes,
                                               const passes::Plan& merged, const std::string& reason) {
  auto apart = std::make_shared<passes::Plan>(*separate_plan(program, address_bytes));
  for (passes::FusionDecision decision : merged.fusion) {
    if (decision.merged) decision.reason = reason;
    decision.merged = false;
    apart->fusion.push_back(std::move(decision));
  }
  return apart;
}

std::shared_ptr<const passes::Plan> plan_for(const ProgramState& program, std::uint32_t address_bytes,
                                             const LaunchVariant& variant) {
  auto separate = separate_plan(program, address_bytes);
  if (!program.merges && !variant.phases && !variant.cooperative && !program.concurrent) return separate;
  const bool all_known = variant.assumptions.no_alias && variant.assumptions.index32;
  if (const auto& made = variant.shared_index ? program.shared_plan : program.same_plan;
      made && address_bytes == 8 && all_known && !variant.phases && !variant.cooperative)
    return made;
  const passes::PlanOptions options{
      variant.shared_index ? Fusion::shared_index
      : program.merges     ? Fusion::same_space
                           : Fusion::none,
      {.no_alias = variant.assumptions.no_alias, .index32 = variant.assumptions.index32},
      variant.phases,
      variant.cooperative,
      program.concurrent};
  auto plan = with_scratch_of(*separate, passes::make_plan(*program.kernel, address_bytes, options));
  return plan ? plan : separate;
}

bool fits_a_phase(const DeviceState& device, const passes::PlannedTask& planned, const LoopSpace& space,
                  std::uint64_t& operations) noexcept {
  if (planned.rank == 0) {  // one thread runs it anyway
    if (planned.task.kind == ir::TaskKind::phases) operations = ~std::uint64_t{0};
    return true;
  }
  if (!space.known || planned.vary()) return false;
  const bool cpu = device.info.kind == DeviceKind::cpu;
  // No more iterations than operations, whose product then fits.
  if (space.count > (cpu ? phase_operations_of_cpu : phase_iterations_of_gpu)) return false;
  const std::uint64_t own = space.count * std::max(planned.task.cost, 1u);
  if (operations != ~std::uint64_t{0}) operations += own;
  return own <= (cpu ? phase_operations_of_cpu : phase_operations_of_gpu);
}

bool may_cooperate(const ProgramState& program, const DeviceState& device) noexcept {
  return program.cooperates && device.has(Capability::cooperative_launch) &&
         codegen::generates_cooperative(device.info.code_targets.front().format);
}

// Each barrier waits for the grid instead of the block, and the loops' iterations are shared by all blocks. A
// loop of unknown length may be long: one block would then take many times as long, while the grid loses
// little on a short one.
bool prefers_the_grid(const ProgramState& program, const passes::PlannedTask& planned,
                      const LaunchValues& values) noexcept {
  const passes::Plan& plan = *program.plan;
  if (merges_always()) return !program.kernel->options.no_phases;  // for tests that compare both
  std::uint64_t iterations = 0;
  for (const passes::PlannedLoop& loop : planned.phases) {
    if (loop.cost == 0) continue;  // merged with the one before it
    const LoopSpace space = loop_space(plan, loop.bounds, values);
    if (!space.known || loop.bounds.vary() || space.count > LoopSpace::max_count / loop.cost) return true;
    iterations += std::max(space.count, space.count * loop.cost / operations_per_access);
  }
  return iterations > planned.barriers * iterations_per_grid_barrier;
}

std::vector<LaunchVariant> variants_with(const ProgramState& program,
                                         const codegen::LaunchAssumptions& assumptions,
                                         std::string_view format) {
  const bool cooperates = program.cooperates && codegen::generates_cooperative(format);
  std::vector<LaunchVariant> variants{{assumptions}};
  if (cooperates) variants.push_back({assumptions, false, false, true});
  if (may_share_index(program, format.starts_with("elf"))) {
    variants.push_back({assumptions, true});
    if (cooperates) variants.push_back({assumptions, true, false, true});
  }
  if (has_phases(program)) variants.push_back({assumptions, false, true});
  return variants;
}

// A CPU vectorises over the shared index only if each iteration is straight code. With loops inside, each
// loop of the kernel is faster alone, where its own last index may be the vectors' lanes.
bool may_share_index(const ProgramState& program, bool cpu) noexcept {
  return program.shared_plan && (!cpu || program.shares_on_cpus);
}

bool prefers_shared_index(const ProgramState& program, const DeviceState& device,
                          const LaunchValues& values) noexcept {
  const bool cpu = device.info.kind == DeviceKind::cpu;
  if (!may_share_index(program, cpu)) return false;
  if (cpu && !program.shares_conflicting_rows && rows_conflict(values)) return false;
  const passes::Plan& plan = *program.shared_plan;
  const std::uint64_t min_values =
      cpu ? min_cpu_values_per_core * std::max(device.info.multiprocessors, 1u) : min_gpu_values;
  for (const passes::PlannedTask& planned : plan.tasks) {
    if (planned.task.kind == ir::TaskKind::phases) continue;
    if (planned.vary()) return false;
    if (is_over_one_space(planned)) continue;
    const LoopSpace shared = loop_space(plan, planned, values);
    if (!shared.known || shared.count < min_values) return false;
    std::uint64_t iterations = 0;
    for (const passes::PlannedLoop& loop : planned.merged) {
      const LoopSpace space = loop_space(plan, loop.bounds, values);
      if (!space.known) return false;
      iterations += space.count / shared.count;
    }
    if (iterations > iterations_per_launch * planned.merged.size()) return false;
  }
  return true;
}

}  // namespace weir::detail
