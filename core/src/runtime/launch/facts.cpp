// SPDX-License-Identifier: Apache-2.0
// What a launch proves of its arguments before code that relies on it runs.
#include <fmt/format.h>

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
  const bool known = at.line != 0 && at.file < program.kernel->files.size();
  throw Error(
      ErrorCode::invalid,
      fmt::format(
          "kernel '{}': the loop at {} has more than the {} iterations that a loop may have; check the "
          "bounds that it was given",
          *program.name,
          known ? fmt::format("{}:{}", program.kernel->files[at.file], at.line) : "an unknown line",
          LoopSpace::most));
}

bool starts_aligned(const AnyArrayView& view) noexcept {
  const std::uint64_t row =
      view.rank() > 1 ? std::uint64_t(view.extent(view.rank() - 1)) * view.element().size() : 0;
  return (((view.block()->address + view.offset()) | row) % access_bytes) == 0;
}

}  // namespace

codegen::Facts usual_facts(const DeviceState& device) noexcept {
  if (device.info.kind == DeviceKind::cpu) return {};
  return {.distinct = true, .narrow = true, .aligned = true};
}

codegen::Facts check_launch(const ProgramState& program, const DeviceState& device,
                            const LaunchValues& values) {
  codegen::Facts facts = usual_facts(device);
  for (const passes::PlannedTask& planned : program.plan->tasks) {
    const LoopSpace space = loop_space(*program.plan, planned, values);
    if (space.count > LoopSpace::most) [[unlikely]]
      refuse_space(program, planned);
    facts.narrow = facts.narrow && space.known && space.within_i32 && space.count < narrow_iterations;
  }
  if (device.info.kind == DeviceKind::cpu) return {};  // its code is the same for all launches

  for (std::size_t i = 0; i < values.arguments.size(); ++i) {
    const AnyArrayView* view = values.arguments[i].array;
    if (!view) continue;
    facts.narrow = facts.narrow && view->size() * view->element().lanes() < narrow_scalars;
    facts.aligned = facts.aligned && starts_aligned(*view);
    if (!program.parameters[i].written) continue;
    for (std::size_t j = 0; j < values.arguments.size(); ++j) {
      const AnyArrayView* other = values.arguments[j].array;
      if (other && j != i && overlap(*view, *other)) facts.distinct = false;
    }
  }
  return facts;
}

}  // namespace weir::detail
