// SPDX-License-Identifier: Apache-2.0
// Checks the launch assumptions that generated code relies on.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/launch/launch_steps.hpp"
#include "runtime/launch/loop_space.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir::detail {
namespace {

constexpr std::uint64_t access_bytes = 16;         // the widest load or store of a thread
constexpr std::uint64_t max_components = 16 * 16;  // scalars of the largest element, a Mat
constexpr std::uint64_t narrow_scalars = std::uint64_t{1}
                                         << 31;  // also the limit of an extent, which is passed as an i32

[[noreturn]] void refuse_space(const ProgramState& program, const passes::PlannedTask& planned) {
  const ir::Location& at = planned.task.location;
  const bool known = program.kernel->knows(at);
  throw Error(
      ErrorCode::invalid,
      fmt::format(
          "kernel '{}': the loop at {} has more than the {} iterations that a loop may have; check the "
          "bounds that it was given",
          program.name(),
          known ? fmt::format("{}:{}", program.kernel->files[at.file], at.line) : "an unknown line",
          LoopSpace::max_count));
}

/// As has_index32. Small arrays, with elements of any size, need no product of their extents.
bool has_index32(const AnyArrayView& view) noexcept {
  if (const std::uint64_t size = view.size(); size != 0 && size < narrow_scalars / max_components) [[likely]]
    return true;
  return detail::has_index32(Extents(view), view.element().components());
}

/// Combines the bits of the address of the array's start and of the row pitch, for the alignment test.
std::uint64_t places(const AnyArrayView& view) noexcept {
  const std::uint64_t row =
      view.rank() > 1 ? std::uint64_t(view.extent(view.rank() - 1)) * view.element().size() : 0;
  return (view.block()->address + view.offset()) | row;
}

}  // namespace

bool has_index32(std::span<const std::int64_t> extents, std::uint64_t components) noexcept {
  std::uint64_t scalars = components;
  for (const std::int64_t extent : extents) {
    if (std::uint64_t(extent) >= narrow_scalars) return false;
    // Both factors are below 2^31. Extents may be 0, but the product of the others must stay below the limit
    // too.
    scalars *= std::max<std::uint64_t>(std::uint64_t(extent), 1);
    if (scalars >= narrow_scalars) return false;
  }
  return true;
}

codegen::LaunchAssumptions usual_assumptions(const ProgramState& program, bool cpu) noexcept {
  // Most code for CPUs is the same for all launches. Merged or concurrent loops and private counters are not.
  // Only plans with the former look at the sizes.
  if (cpu) {
    const bool planned_anew = program.merges || program.concurrent;
    return {.no_alias = planned_anew || program.counts, .index32 = planned_anew && program.has_known_spaces};
  }
  // Arrays use WEIR_MEMORY_DEVICE memory, unless they borrow it, and are used on their own device only.
  // Pinned memory of the pool takes part in copies only.
  return {.no_alias = true, .index32 = true, .aligned = true, .device_local = true};
}

LaunchVariant choose_variant(const ProgramState& program, const DeviceState& device, LaunchValues& values) {
  const bool cpu = device.info.kind == DeviceKind::cpu;
  LaunchVariant variant{usual_assumptions(program, cpu)};
  codegen::LaunchAssumptions& assumptions = variant.assumptions;
  const passes::Plan& plan = *program.plan;
  bool same = true;  // in all repetitions
  variant.phases = program.may_have_phases;
  std::uint64_t operations = 0;
  const bool may_cooperate = detail::may_cooperate(program, device);
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const passes::PlannedTask& planned = plan.tasks[i];
    for (const passes::PlannedLoop& loop : planned.phases)
      assumptions.index32 =
          assumptions.index32 && !loop.bounds.vary() && loop_space(plan, loop.bounds, values).index32;
    if (may_cooperate && planned.task.kind == ir::TaskKind::phases)
      variant.cooperative = variant.cooperative || prefers_the_grid(program, planned, values);
    same = same && !planned.vary();
    if (planned.vary()) {
      assumptions.index32 = variant.phases = false;
      continue;
    }
    const LoopSpace space = loop_space(plan, planned, values);
    if (space.count > LoopSpace::max_count) [[unlikely]]
      refuse_space(program, plan.tasks[i]);
    if (same) values.remember(i, space);
    assumptions.index32 = assumptions.index32 && space.index32;
    variant.phases = variant.phases && fits_a_phase(device, planned, space, operations);
  }
  variant.phases = variant.phases && !variant.cooperative && has_phases(program);
  if (variant.phases) {
    values.forget();
    values.phase_operations = operations;
  }
  // One thread runs a tiny launch, and the comparison of its arguments would take longer than it gains.
  const bool concurrent =
      program.concurrent && !(variant.phases && values.phase_operations < 4 * operations_per_cpu_block);
  if (cpu && !program.merges && !program.counts && !concurrent) return {{}, false, variant.phases};
  variant.shared_index = !variant.phases && prefers_shared_index(program, device, values);

  std::uint64_t unaligned = 0;
  for (std::size_t i = 0; i < values.arguments.size(); ++i) {
    const AnyArrayView* view = values.arguments[i].array;
    if (!view) continue;
    assumptions.index32 = assumptions.index32 && has_index32(*view);
    if (const Borrowed* borrowed = view->block()->borrowed.get(); borrowed && borrowed->on_host) [[unlikely]]
      assumptions.device_local = false;
    unaligned |= places(*view);
    if (!program.parameters[i].written) continue;
    for (std::size_t j = 0; j < values.arguments.size(); ++j) {
      const AnyArrayView* other = values.arguments[j].array;
      if (other && j != i && overlap(*view, *other) && !program.members_of_one(i, j))
        assumptions.no_alias = false;
    }
  }
  if (cpu)
    assumptions.aligned = assumptions.device_local = false;
  else
    assumptions.aligned = unaligned % access_bytes == 0;
  return variant;
}

}  // namespace weir::detail
