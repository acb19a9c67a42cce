// SPDX-License-Identifier: Apache-2.0
// Code generation without a device.
#include <utility>
#include <weir/compile.hpp>

#include "runtime/launch/program_internal.hpp"

namespace weir {
namespace {

std::vector<const ir::Task*> tasks_of(const passes::Plan& plan) {
  std::vector<const ir::Task*> tasks;
  for (const passes::PlannedTask& planned : plan.tasks) tasks.push_back(&planned.task);
  return tasks;
}

codegen::Target target_of(const CompileTarget& target) {
  codegen::Target result;
  result.format = target.format;
  result.cpu = target.cpu;
  result.features = target.features;
  return result;
}

}  // namespace

CompiledProgram compile(const Program& program, const CompileTarget& target) {
  const detail::ProgramState& state = *program.state();
  codegen::CodeObject object =
      detail::compiler().compile(*state.kernel, tasks_of(*state.plan), target_of(target));
  CompiledProgram result;
  result.format = std::move(object.format);
  result.target = std::move(object.target);
  result.bytes = std::move(object.bytes);
  for (std::size_t i = 0; i < object.entries.size(); ++i) {
    const passes::PlannedTask& planned = state.plan->tasks[i];
    result.tasks.push_back({std::move(object.entries[i].symbol), planned.region, planned.block});
  }
  return result;
}

std::string compile_to_text(const Program& program, const CompileTarget& target, std::string_view what) {
  const detail::ProgramState& state = *program.state();
  return detail::compiler().emit_text(*state.kernel, tasks_of(*state.plan), target_of(target), what);
}

}  // namespace weir
