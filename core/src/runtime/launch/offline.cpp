// SPDX-License-Identifier: Apache-2.0
// Code generation without a device.
#include <fmt/format.h>

#include <algorithm>
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

codegen::Facts facts_of(std::string_view words) {
  codegen::Facts facts;
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    const std::string_view word = words.substr(0, comma);
    words.remove_prefix(std::min(comma + 1, words.size()));
    bool* fact = word == "distinct"  ? &facts.distinct
                 : word == "narrow"  ? &facts.narrow
                 : word == "aligned" ? &facts.aligned
                                     : nullptr;
    if (!fact)
      throw Error(ErrorCode::invalid, fmt::format("'{}' is nothing that code can rely on; expected distinct, narrow or "
                                                  "aligned, separated by commas",
                                                  word));
    *fact = true;
  }
  return facts;
}

codegen::Target target_of(const CompileTarget& target) {
  codegen::Target result;
  result.format = target.format;
  result.cpu = target.cpu;
  result.features = target.features;
  result.facts = facts_of(target.assume);
  return result;
}

}  // namespace

CompiledProgram compile(const Program& program, const CompileTarget& target) {
  if (!program.state()) detail::throw_dead("kernel");
  const detail::ProgramState& state = *program.state();
  codegen::CodeObject object =
      detail::compiler().compile(*state.kernel, tasks_of(*state.plan), target_of(target));
  CompiledProgram result;
  result.format = std::move(object.format);
  result.target = std::move(object.target);
  result.bytes = std::move(object.bytes);
  for (std::size_t i = 0; i < object.entries.size(); ++i) {
    const passes::PlannedTask& planned = state.plan->tasks[i];
    const auto& [x, y, z] = object.entries[i].block;
    result.tasks.push_back({std::move(object.entries[i].symbol), planned.region, planned.block, {x, y, z},
                            object.entries[i].dynamic_shared_bytes, planned.task.argument_bytes});
  }
  return result;
}

std::string compile_to_text(const Program& program, const CompileTarget& target, std::string_view what) {
  if (!program.state()) detail::throw_dead("kernel");
  const detail::ProgramState& state = *program.state();
  return detail::compiler().emit_text(*state.kernel, tasks_of(*state.plan), target_of(target), what);
}

}  // namespace weir
