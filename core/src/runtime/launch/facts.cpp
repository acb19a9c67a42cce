// SPDX-License-Identifier: Apache-2.0
// What a launch proves of its arguments before code that relies on it runs.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/array_use.hpp"
#include "runtime/launch/loop_space.hpp"
#include "runtime/launch/program_internal.hpp"

namespace weir::detail {
namespace {

constexpr std::uint64_t access_bytes = 16;  // the widest that a thread loads or stores at a time
constexpr std::uint64_t narrow_scalars = std::uint64_t{1} << 31;
constexpr std::uint64_t narrow_iterations = std::uint64_t{1} << 30;

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
          LoopSpace::most));
}

/// Bits that are set in the address of the array's start or in the distance of its rows.
std::uint64_t places(const AnyArrayView& view) noexcept {
  const std::uint64_t row =
      view.rank() > 1 ? std::uint64_t(view.extent(view.rank() - 1)) * view.element().size() : 0;
  return (view.block()->address + view.offset()) | row;
}

}  // namespace

codegen::Facts usual_facts(const DeviceState& device) noexcept {
  if (device.info.kind == DeviceKind::cpu) return {};
  // Arrays are made of WEIR_MEMORY_DEVICE and used on their own device alone; pinned memory takes part in
  // copies only.
  return {.distinct = true, .narrow = true, .aligned = true, .resident = true};
}

codegen::Facts check_launch(const ProgramState& program, const DeviceState& device, LaunchValues& values) {
  codegen::Facts facts = usual_facts(device);
  const passes::Plan& plan = *program.plan;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const LoopSpace space = loop_space(plan, plan.tasks[i], values);
    if (space.count > LoopSpace::most) [[unlikely]]
      refuse_space(program, plan.tasks[i]);
    values.remember(i, space);
    facts.narrow = facts.narrow && space.known && space.within_i32 && space.count < narrow_iterations;
  }
  if (device.info.kind == DeviceKind::cpu) return {};  // its code is the same for all launches

  std::uint64_t most_scalars = 0, unaligned = 0;
  for (std::size_t i = 0; i < values.arguments.size(); ++i) {
    const AnyArrayView* view = values.arguments[i].array;
    if (!view) continue;
    most_scalars = std::max(most_scalars, std::uint64_t(view->size() * view->element().lanes()));
    unaligned |= places(*view);
    if (!program.parameters[i].written) continue;
    for (std::size_t j = 0; j < values.arguments.size(); ++j) {
      const AnyArrayView* other = values.arguments[j].array;
      if (other && j != i && overlap(*view, *other)) facts.distinct = false;
    }
  }
  facts.narrow = facts.narrow && most_scalars < narrow_scalars;
  facts.aligned = unaligned % access_bytes == 0;
  return facts;
}

}  // namespace weir::detail
