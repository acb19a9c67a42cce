// SPDX-License-Identifier: Apache-2.0
#include "runtime/programs/layouts.hpp"

#include "dsl/make_program.hpp"
#include "passes/place_members.hpp"
#include "runtime/launch/debug_launch.hpp"

namespace weir::detail {

bool has_layouts(const ProgramState& program, std::span<const LaunchArgument> arguments) noexcept {
  for (std::size_t s = 0; s < program.structs.size(); ++s)
    if (arguments[program.structs[s].first].layout != program.layouts[s]) return false;
  return true;
}

namespace {

const PlacedProgram* find(const ProgramState& program, std::span<const LaunchArgument> arguments) noexcept {
  const PlacedProgram* placed = program.placed.load(std::memory_order_acquire);
  const bool debugged = program.debugged.load(std::memory_order_relaxed);
  while (placed && !(placed->debugged == debugged && has_layouts(*placed->program, arguments)))
    placed = placed->next;
  return placed;
}

std::shared_ptr<ProgramState> place(const ProgramState& program, std::span<const LaunchArgument> arguments,
                                    bool debugged) {
  std::vector<Layout> layouts;
  for (const ir::StructParameter& array : program.structs) layouts.push_back(arguments[array.first].layout);
  ir::Kernel kernel = *program.kernel;
  // The interpreter checks all indices.
  kernel.options.check_bounds = debugged || kernel.options.check_bounds;
  passes::place_members(kernel, program.structs, layouts, kernel.options.check_bounds);
  std::shared_ptr<ProgramState> placed = make_program(std::move(kernel), program.structs).state();
  placed->layouts = std::move(layouts);
  placed->launches = program.launches;
  for (const ProgramStep& step : placed->steps) {
    if (!step.part) continue;
    step.part->layouts = placed->layouts;
    step.part->launches = program.launches;
  }
  debug(*placed, debugged);
  return placed;
}

}  // namespace

const std::shared_ptr<ProgramState>& for_layouts(const std::shared_ptr<ProgramState>& program,
                                                 std::span<const LaunchArgument> arguments) {
  // The launch refuses a wrong number of arguments.
  if (program->structs.empty() || arguments.size() != program->parameters.size() ||
      has_layouts(*program, arguments))
    return program;
  if (const PlacedProgram* placed = find(*program, arguments)) return placed->program;
  const std::lock_guard lock(program->placing);
  if (const PlacedProgram* placed = find(*program, arguments)) return placed->program;
  const bool debugged = program->debugged.load(std::memory_order_relaxed);
  const PlacedProgram* head = program->placed.load(std::memory_order_relaxed);
  const auto* added = new PlacedProgram{place(*program, arguments, debugged), debugged, head};
  program->placed.store(added, std::memory_order_release);
  return added->program;
}

}  // namespace weir::detail
