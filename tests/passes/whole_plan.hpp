// SPDX-License-Identifier: Apache-2.0
// A plan with all of its parts, as text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/plan.hpp"

namespace weir::test {

inline std::string whole_text(const ir::Kernel& kernel, const ir::TaskArgument& argument) {
  static const char* const words[] = {"array",     "scratch", "error",  "extent",     "scalar", "launch_key",
                                      "site_base", "print",   "launch", "repetition", "barrier"};
  using Kind = ir::TaskArgument::Kind;
  std::string text = words[static_cast<std::size_t>(argument.kind)];
  const bool of_parameter =
      argument.kind == Kind::array || argument.kind == Kind::extent || argument.kind == Kind::scalar;
  if (of_parameter) text += " @" + kernel.parameters[argument.parameter].name;
  if (!of_parameter && argument.parameter != 0) text += " of a parameter";
  if (argument.index != 0) text += "." + std::to_string(argument.index);
  return text + " " + std::string(to_string(argument.type)) + " " + std::to_string(argument.offset) + "+" +
         std::to_string(argument.size);
}

inline std::string whole_text(const ir::Kernel& kernel, const passes::HostBound& bound) {
  using Kind = passes::HostBound::Kind;
  const std::string varies = bound.varies ? " varies" : "";
  switch (bound.kind) {
    case Kind::constant:
      return std::to_string(bound.constant) + varies;
    case Kind::extent:
    case Kind::scalar:
      return "@" + kernel.parameters[bound.parameter].name + (bound.kind == Kind::extent ? ":" : ".") +
             std::to_string(bound.index) + varies;
    case Kind::expression:
      return "expression " + std::to_string(bound.expression) + varies;
    case Kind::device:
      break;
  }
  return "device" + varies;
}

inline std::string whole_text(const ir::Kernel& kernel, const passes::LoopBounds& bounds) {
  std::string text;
  for (std::size_t d = 0; d < bounds.rank; ++d)
    text += " [" + whole_text(kernel, bounds.low[d]) + ", " + whole_text(kernel, bounds.high[d]) + ")";
  return text;
}

/// "line 5 [0, @x:0)", with the cost of phases.
inline std::string whole_text(const ir::Kernel& kernel, const passes::PlannedLoop& loop) {
  return "line " + std::to_string(loop.location.line) + whole_text(kernel, loop.bounds) +
         (loop.cost != 0 ? " cost " + std::to_string(loop.cost) : "");
}

inline std::string whole_text(const std::vector<passes::FusionDecision>& decisions, const std::string& word) {
  std::string text;
  for (const passes::FusionDecision& d : decisions)
    text += word + " of lines " + std::to_string(d.first.line) + " and " + std::to_string(d.second.line) +
            ": " + (d.merged ? "merged" : "apart") + (d.reason.empty() ? "" : "\n  " + d.reason) + "\n";
  return text;
}

/// The task with places, and a line for each of its parts that differs from the default.
inline std::string whole_text(const ir::Kernel& kernel, const passes::PlannedTask& planned) {
  const ir::Task& task = planned.task;
  std::string text = ir::print(kernel, task, true);
  text += "values " + std::to_string(task.value_count) + ", locals " + std::to_string(task.local_count) +
          ", cost " + std::to_string(task.cost) + (planned.cost_is_exact ? " exactly" : "") + "\n";
  text += "arguments of " + std::to_string(task.argument_bytes) + " bytes\n";
  for (const ir::TaskArgument& argument : task.arguments) text += "  " + whole_text(kernel, argument) + "\n";
  for (const passes::ArrayTraffic& array : planned.traffic) {
    const auto bytes = [](std::uint32_t number) {
      return number == passes::ArrayTraffic::whole ? "all" : std::to_string(number);
    };
    text += "traffic @" + kernel.parameters[array.parameter].name + " reads " + bytes(array.read) +
            " writes " + bytes(array.written) + "\n";
  }
  if (planned.rank != 0)
    text += "bounds" + whole_text(kernel, static_cast<const passes::LoopBounds&>(planned)) + "\n";
  if (task.partials_offset != 0 || task.result_offset != 0)
    text += "partials " + std::to_string(task.partials_offset) + ", " +
            std::string(ir::to_string(task.reduce_kind)) + " of " + std::string(to_string(task.reduce_type)) +
            " at " + std::to_string(task.result_offset) + "\n";
  if (planned.region != -1 || planned.block != -1)
    text += "stream block " + std::to_string(planned.region) + "." + std::to_string(planned.block) + "/" +
            std::to_string(planned.group) + (planned.conflicts_are_meant ? " allows conflicts" : "") +
            (planned.found_independent ? " found" : "") + "\n";
  for (const std::uint16_t p : planned.divided) text += "divided @" + kernel.parameters[p].name + "\n";
  for (const passes::PlannedLoop& loop : planned.merged) text += "merged " + whole_text(kernel, loop) + "\n";
  for (const passes::PlannedLoop& loop : planned.phases) text += "phase " + whole_text(kernel, loop) + "\n";
  if (task.merged) text += "is merged\n";
  if (planned.keeps_loops) text += "keeps loops\n";
  if (task.cooperative) text += "is cooperative\n";
  for (const std::uint32_t offset : task.read_by_others)
    text += "others read " + std::to_string(offset) + "\n";
  if (planned.barriers != 0) text += "barriers " + std::to_string(planned.barriers) + "\n";
  if (!planned.title.empty()) text += "title " + planned.title + "\n";
  return text;
}

/// Tasks, then the parts of the plan that belong to no task.
inline std::string whole_text(const ir::Kernel& kernel, const passes::Plan& plan) {
  std::string text;
  for (const passes::PlannedTask& planned : plan.tasks) text += whole_text(kernel, planned);
  for (const passes::PlannedRepeat& r : plan.repeats)
    text += "repeat at line " + std::to_string(r.location.line) + " of tasks " + std::to_string(r.begin) +
            " to " + std::to_string(r.end) + ", depth " + std::to_string(r.depth) + ", count " +
            whole_text(kernel, r.count) + "\n";
  for (const std::uint32_t blocks : plan.region_blocks)
    text += "region of " + std::to_string(blocks) + " stream blocks\n";
  for (const passes::HostExpression& e : plan.expressions) {
    text += "expression";
    for (const ir::Statement& s : e.statements) text += " " + std::string(ir::info(s.op).mnemonic);
    text += " gives value " + std::to_string(e.result) + "\n";
  }
  for (const passes::AliasCheck& check : plan.alias_checks)
    text += "check @" + kernel.parameters[check.written].name + " of line " +
            std::to_string(check.written_at.line) + " and @" + kernel.parameters[check.touched].name +
            " of line " + std::to_string(check.touched_at.line) + "\n";
  text += whole_text(plan.fusion, "fusion") + whole_text(plan.order, "order");
  if (plan.scratch_bytes != 0) text += "scratch " + std::to_string(plan.scratch_bytes) + "\n";
  const std::pair<bool, const char*> facts[] = {{plan.uses_error_record, "error_record"},
                                                {plan.uses_launch_key, "launch_key"},
                                                {plan.prints, "prints"},
                                                {plan.is_separate, "separate"},
                                                {plan.has_merged, "merged"},
                                                {plan.has_independent, "independent"},
                                                {plan.has_cooperative, "cooperative"}};
  text += "facts:";
  for (const auto& [holds, word] : facts)
    if (holds) text += std::string(" ") + word;
  return text + "\n";
}

/// The plan of an IR text, after a line break. Adds a failure for each task that is invalid.
inline std::string plan_text(const std::string& text, const passes::PlanOptions& options = {},
                             std::uint32_t address_bytes = 8) {
  const ir::Kernel kernel = ir::parse(text, "k.weir");
  const passes::Plan plan = passes::make_plan(kernel, address_bytes, options);
  for (const passes::PlannedTask& planned : plan.tasks)
    for (const ir::Diagnostic& fault : ir::verify_task(kernel, planned.task)) ADD_FAILURE() << fault.message;
  return "\n" + whole_text(kernel, plan);
}

}  // namespace weir::test
