// SPDX-License-Identifier: Apache-2.0
// Code generation without a device.
#include "runtime/programs/offline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <weir/compile.hpp>

#include "compilation/remote_compiler.hpp"
#include "ir/error_record.hpp"
#include "ir/verifier.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/launch/launch_steps.hpp"

namespace weir {
namespace {

codegen::LaunchAssumptions assumptions_of(std::string_view words) {
  codegen::LaunchAssumptions assumptions;
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    const std::string_view word = words.substr(0, comma);
    words.remove_prefix(std::min(comma + 1, words.size()));
    // distinct, narrow and resident are the names of version 0.1, accepted until 0.3.
    bool* assumption = word == "no_alias" || word == "distinct"       ? &assumptions.no_alias
                       : word == "index32" || word == "narrow"        ? &assumptions.index32
                       : word == "aligned"                            ? &assumptions.aligned
                       : word == "device_local" || word == "resident" ? &assumptions.device_local
                                                                      : nullptr;
    if (!assumption)
      throw Error(ErrorCode::invalid,
                  fmt::format("'{}' is not a launch assumption; expected no_alias, index32, aligned or "
                              "device_local, separated by commas",
                              word));
    *assumption = true;
  }
  return assumptions;
}

using Field = CompiledProgram::Argument;

struct NamedKind {
  Field::Kind kind;
  const char* name;  // null: the parameter's name
};

NamedKind kind_of(ir::TaskArgument::Kind kind) noexcept {
  using From = ir::TaskArgument::Kind;
  switch (kind) {
    case From::array:
      return {Field::Kind::array, nullptr};
    case From::extent:
      return {Field::Kind::extent, nullptr};
    case From::scalar:
      return {Field::Kind::scalar, nullptr};
    case From::scratch:
      return {Field::Kind::scratch, "scratch"};
    case From::error:
      return {Field::Kind::failure_record, "failure_record"};
    case From::launch_key:
      return {Field::Kind::launch_key, "launch_key"};
    default:
      return {Field::Kind::site_base, "site_base"};
  }
}

Field field_of(const detail::ProgramState& program, const ir::TaskArgument& argument) {
  const auto [kind, name] = kind_of(argument.kind);
  return {kind,
          name ? name : program.parameters[argument.parameter].name,
          argument.offset,
          argument.size,
          argument.parameter,
          argument.index,
          argument.type};
}

/// The plan of shipped code. Its tasks run once each, so repeats are phases of one.
std::shared_ptr<const passes::Plan> shipped_plan(const detail::ProgramState& state) {
  if (!state.steps.empty())
    throw Error(
        ErrorCode::unsupported,
        fmt::format("kernel '{}' contains algorithms, which only Weir submits between its tasks, so its code "
                    "cannot be loaded without its program; launch it as a Kernel or Program, or pack it",
                    state.name()));
  if (state.plan->repeats.empty()) return state.plan;
  auto plan = std::make_shared<const passes::Plan>(
      passes::make_plan(*state.kernel, 8, {.phases = true, .each_once = true}));
  if (plan->repeats.empty()) return plan;
  const ir::Location& at = plan->repeats.front().location;
  throw Error(
      ErrorCode::unsupported,
      fmt::format("kernel '{}': the repeat at {} holds a group_for, and code that is loaded without its "
                  "program submits each task once; launch it as a Kernel or Program",
                  state.name(), ir::describe(*state.kernel, at)));
}

}  // namespace

namespace detail {

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
  result.assumptions = assumptions_of(target.assume);
  return result;
}

}  // namespace detail

using detail::target_of;
using detail::tasks_of;

CompileTarget parse_target(std::string_view words) try {
  CompileTarget target;
  const std::size_t first = words.find(':');
  target.format = words.substr(0, first);
  if (first == std::string_view::npos) return target;
  words.remove_prefix(first + 1);
  const std::size_t second = words.find(':');
  target.cpu = words.substr(0, second);
  if (second != std::string_view::npos) target.features = words.substr(second + 1);
  return target;
} catch (...) {
  detail::rethrow_as_error();
}

CompiledProgram compile(const Program& program, const CompileTarget& target) try {
  if (!program.state()) detail::throw_dead("kernel");
  const detail::ProgramState& state = *program.state();
  if (state.plan->prints)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("kernel '{}' prints, and code that is loaded without its program has no place for "
                    "the lines; remove its prints, or launch it as a Kernel or Program",
                    state.name()));
  const auto plan = shipped_plan(state);
  codegen::CodeObject object =
      compilation::compiler().compile(*state.kernel, tasks_of(*plan), target_of(target));
  CompiledProgram result;
  result.format = std::move(object.format);
  result.target = std::move(object.target);
  result.bytes = std::move(object.bytes);
  result.scratch_bytes = plan->scratch_bytes;
  std::uint32_t site = 0;
  for (std::size_t i = 0; i < object.entries.size(); ++i) {
    const passes::PlannedTask& planned = plan->tasks[i];
    const auto& [x, y, z] = object.entries[i].block;
    CompiledProgram::Task& task = result.tasks.emplace_back();
    task.symbol = std::move(object.entries[i].symbol);
    task.region = planned.region;
    task.block = planned.block;
    task.block_threads = {x, y, z};
    task.shared_bytes = object.entries[i].dynamic_shared_bytes;
    task.argument_bytes = planned.task.argument_bytes;
    task.lowering = object.entries[i].lowering;
    for (const ir::TaskArgument& argument : planned.task.arguments)
      task.arguments.push_back(field_of(state, argument));
    task.first_site = site;
    site += ir::failure_sites(planned.task.body);
  }
  return result;
} catch (...) {
  detail::rethrow_as_error();
}

std::string failure_of(const Program& program, std::span<const std::byte> record) try {
  static_assert(sizeof(ir::ErrorRecord) == CompiledProgram::failure_record_bytes);
  if (!program.state()) detail::throw_dead("kernel");
  if (record.size() != sizeof(ir::ErrorRecord))
    throw Error(ErrorCode::invalid,
                fmt::format("an error record has {} bytes; found {}; pass the whole record",
                            sizeof(ir::ErrorRecord), record.size()));
  ir::ErrorRecord copy;
  std::memcpy(&copy, record.data(), sizeof copy);
  if (copy.state != ir::ErrorRecord::complete) return {};
  return detail::make_failure_source(*program.state(), shipped_plan(*program.state()))
      ->describe(copy.site, copy)
      .what();
} catch (...) {
  detail::rethrow_as_error();
}

std::string compile_to_text(const Program& program, const CompileTarget& target, std::string_view what) try {
  if (!program.state()) detail::throw_dead("kernel");
  const detail::ProgramState& state = *program.state();
  return compilation::compiler().emit_text(*state.kernel, tasks_of(*shipped_plan(state)), target_of(target),
                                           what);
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
