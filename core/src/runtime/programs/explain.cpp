// SPDX-License-Identifier: Apache-2.0
// How a kernel's loops became tasks, in words.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <weir/compile.hpp>
#include <weir/program.hpp>

#include "compilation/remote_compiler.hpp"
#include "ir/algorithm.hpp"
#include "ir/verifier.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/programs/offline.hpp"

namespace weir {
namespace {

using detail::CompiledTask;
using detail::ProgramState;

std::string line_of(const ir::Kernel& kernel, const ir::Location& at) {
  if (!kernel.knows(at)) return "an unknown line";
  return fmt::format("{}:{}", kernel.files[at.file], at.line);
}

std::string numbers(const CompiledTask& task) {
  if (task.registers == 0) return {};
  return fmt::format("; {} registers, {} bytes of stack, {} blocks at once", task.registers, task.stack_bytes,
                     task.resident_blocks);
}

/// The memory traffic of a merged task against that of its loops in `separate`, a plan with each loop a task.
/// Empty if they are not comparable: unknown, or with loops that a thread runs sequentially.
std::string traffic(const passes::PlannedTask& merged, const passes::Plan& separate) {
  const auto now = passes::bytes_per_iteration(merged);
  if (!now) return {};
  std::uint64_t apart = 0;
  for (const passes::PlannedLoop& loop : merged.merged) {
    const passes::PlannedTask* const task = passes::find_loop(separate, loop.location);
    if (!task || task->rank != merged.rank) return {};
    const auto bytes = passes::bytes_per_iteration(*task);
    if (!bytes) return {};
    apart += *bytes;
  }
  return fmt::format("    {} bytes of memory traffic per iteration, {} with each loop a task\n", *now, apart);
}

/// Why a repetition runs in one block when launches of the variant are not cooperative.
std::string why_one_block(const ProgramState& program, const detail::LaunchVariant& variant,
                          bool device_cooperates) {
  if (!program.cooperates) return "WEIR_FUSION=off asks for it";
  if (!device_cooperates) return "the device has no cooperative launches";
  if (variant.cooperative) return fmt::format("its region has more than {} stream blocks", ir::grid_barriers);
  return "its loops have few iterations";
}

/// How a task of phases runs its loops. `one_block` is the result of why_one_block().
std::string describe_phases(const ir::Kernel& kernel, const ir::Task& task, bool is_short_chain,
                            const std::string& one_block) {
  if (ir::region_blocks(task) > 1)
    return "    for each stream_parallel block or group of independent loops, one block of a GPU or one "
           "thread of a CPU runs the loops:\n";
  const auto repeat = std::ranges::find(task.body.statements, ir::Op::repeat, &ir::Statement::op);
  if (is_short_chain || repeat == task.body.statements.end())
    return "    one block of a GPU, or one thread of a CPU, runs its loops one after the other:\n";
  const std::string at = line_of(kernel, repeat->location);
  if (task.cooperative)
    return fmt::format("    the repeat at {} runs on the whole grid, in a cooperative launch:\n", at);
  return fmt::format("    the repeat at {} runs in one block of a GPU, or one thread of a CPU, because {}:\n",
                     at, one_block);
}

/// The group of a task, if its stream block has several.
std::string group_of(const passes::PlannedTask& task, const passes::Plan& plan) {
  const bool several = std::ranges::any_of(plan.tasks, [&](const passes::PlannedTask& other) {
    return other.region == task.region && other.block == task.block && other.group != task.group;
  });
  return several ? fmt::format(", group {}", task.group) : "";
}

/// `separate` has each loop a task, for comparison.
void list_tasks(std::string& out, const ir::Kernel& kernel, const passes::Plan& plan,
                const passes::Plan& separate, std::span<const Lowering> lowerings,
                std::span<const CompiledTask> compiled, bool short_chains, const std::string& one_block) {
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const passes::PlannedTask& planned = plan.tasks[i];
    out += "  " + planned.task.name;
    if (planned.region >= 0)
      out += fmt::format(" ({}region {}, block {}{})", planned.found_independent ? "independent loops, " : "",
                         planned.region, planned.block, group_of(planned, plan));
    out += ": " + to_string(lowerings[i]);
    if (!compiled.empty()) out += numbers(compiled[i]);
    out += '\n';
    if (planned.task.kind == ir::TaskKind::phases)
      out += describe_phases(kernel, planned.task, short_chains, one_block);
    for (const passes::PlannedLoop& loop : planned.phases)
      out += "    the loop at " + line_of(kernel, loop.location) + '\n';
    for (const passes::PlannedLoop& loop : planned.merged) {
      out += "    the loop at " + line_of(kernel, loop.location);
      if (loop.bounds.rank > planned.rank) out += ", sequential but for the shared index";
      out += '\n';
    }
    if (!planned.merged.empty()) out += traffic(planned, separate);
  }
  for (const passes::PlannedRepeat& repeat : plan.repeats)
    out += fmt::format("  the repeat at {}: its {} tasks are submitted as often as the host computes\n",
                       line_of(kernel, repeat.location), repeat.end - repeat.begin);
  for (const passes::FusionDecision& decision : plan.fusion) {
    if (decision.merged) continue;
    out += fmt::format("  apart: {} and {}, because {}\n", line_of(kernel, decision.first),
                       line_of(kernel, decision.second), decision.reason);
  }
  for (const passes::FusionDecision& decision : plan.order) {
    if (std::ranges::any_of(plan.fusion, [&](const auto& apart) { return apart.reason == decision.reason; }))
      continue;
    out += fmt::format("  in order: {} and {}, because {}\n", line_of(kernel, decision.first),
                       line_of(kernel, decision.second), decision.reason);
  }
}

/// The assumptions that most launches on a device of that format meet.
codegen::LaunchAssumptions usual_for(const std::string& format) {
  if (format.starts_with("elf")) return {.no_alias = true, .index32 = true};
  return {.no_alias = true, .index32 = true, .aligned = true, .device_local = true};
}

std::string heading(const ir::Kernel& kernel, const detail::LaunchVariant& variant) {
  const std::string words = detail::format_assumptions(variant.assumptions.number());
  return fmt::format("{}{}, launches that meet {}{}{}:\n", kernel.name,
                     kernel.options.deterministic ? " (deterministic)" : "",
                     words.empty() ? "nothing" : words,
                     variant.shared_index ? ", with many values of the shared index" : "",
                     variant.phases        ? ", with few iterations in each loop"
                     : variant.cooperative ? ", with many iterations in repeats"
                                           : "");
}

/// The variants of a program that the device has code of.
std::string explain_compiled(const ProgramState& program, const StreamRef& on) {
  const detail::CompiledVariants* const all =
      program.compiled[detail::live(on).device.number].load(std::memory_order_acquire);
  std::string text;
  for (std::uint32_t number = 0; all && number < detail::LaunchVariant::count; ++number) {
    const detail::DeviceProgram* compiled = all->by_variant[number].load(std::memory_order_acquire);
    if (!compiled) continue;
    detail::LaunchVariant variant = detail::LaunchVariant::of(number);
    variant.assumptions = compiled->assumptions;  // fewer if the code is from a pack
    text += heading(*program.kernel, variant);
    std::vector<Lowering> lowerings;
    for (const CompiledTask& task : compiled->tasks) lowerings.push_back(task.lowering);
    list_tasks(text, *program.kernel, *compiled->plan, *program.plan, lowerings, compiled->tasks,
               variant.phases,
               why_one_block(program, variant, detail::may_cooperate(program, detail::live(on).device)));
  }
  return text;
}

/// The variants that launches on devices of that target would take.
std::string explain_for(const ProgramState& program, const codegen::Target& wanted) {
  std::string text;
  for (const detail::LaunchVariant& variant :
       detail::variants_with(program, wanted.assumptions, wanted.format)) {
    text += heading(*program.kernel, variant);
    text += detail::compile_within_limits(
        program, 8, detail::plan_for(program, 8, variant),
        [&](const std::shared_ptr<const passes::Plan>& plan) {
          const codegen::CodeObject object =
              compilation::compiler().compile(*program.kernel, detail::tasks_of(*plan), wanted);
          std::vector<Lowering> lowerings;
          for (const auto& entry : object.entries) lowerings.push_back(entry.lowering);
          std::string tasks;
          list_tasks(tasks, *program.kernel, *plan, *program.plan, lowerings, {}, variant.phases,
                     why_one_block(program, variant, codegen::generates_cooperative(wanted.format)));
          return tasks;
        });
  }
  return text;
}

/// The steps of a program in order, each part as explain_part describes it.
template <class ExplainPart>
std::string explain_steps(const ProgramState& program, const ExplainPart& explain_part) {
  if (program.steps.empty()) return explain_part(program);
  std::string text;
  for (const detail::ProgramStep& step : program.steps) {
    if (!step.part)
      text += fmt::format("{} at {}\n", ir::print_algorithm(*program.kernel, step.algorithm.algorithm),
                          line_of(*program.kernel, step.algorithm.location));
    else if (!step.part->plan->tasks.empty())
      text += explain_part(*step.part);
  }
  return text;
}

}  // namespace

std::string Program::explain(const StreamRef& on) const try {
  if (!state_) detail::throw_dead("kernel");
  if (variants(on).empty()) prepare(on);
  return explain_steps(*state_, [&](const ProgramState& part) { return explain_compiled(part, on); });
} catch (...) {
  detail::rethrow_as_error();
}

std::string explain(const Program& program, const CompileTarget& target) try {
  if (!program.state()) detail::throw_dead("kernel");
  codegen::Target wanted = detail::target_of(target);
  if (target.assume.empty()) wanted.assumptions = usual_for(target.format);
  return explain_steps(*program.state(), [&](const ProgramState& part) { return explain_for(part, wanted); });
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
