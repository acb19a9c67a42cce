// SPDX-License-Identifier: Apache-2.0
// Running the tasks of a plan in sequence leaves the same memory contents as running the kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <weir/error.hpp>

#include "interpreter.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "kernels.hpp"
#include "passes/plan.hpp"
#include "random_kernel.hpp"
#include "run_plan.hpp"

namespace weir::test {
namespace {

#ifdef WEIR_SANITIZED
constexpr std::uint64_t seeds = 400;
#else
constexpr std::uint64_t seeds = 4000;
#endif
constexpr std::uint64_t steps = 20'000;

// Empty if the kernel's regions conflict.
std::optional<passes::Plan> plan_of(const ir::Kernel& kernel) {
  try {
    return passes::make_plan(kernel, 8);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string text_of(const ir::Kernel& kernel, const passes::Plan& plan) {
  std::string text = ir::print(kernel);
  for (const auto& planned : plan.tasks) text += ir::print(kernel, planned.task);
  return text;
}

// Scratch memory starts with arbitrary contents: a task may read only values that an earlier task wrote.
std::vector<std::uint64_t> run_tasks(Machine machine, const passes::Plan& plan,
                                     const std::vector<std::size_t>& order) {
  std::vector<std::byte> scratch(plan.scratch_bytes, std::byte{0xa5});
  for_each_task(plan, machine,
                [&](std::size_t i) { machine.run_task(plan.tasks[order[i]].task, scratch, 20 * steps); });
  return machine.contents();
}

// Runs kernel and plan on the same arguments. Returns false if the kernel cannot be run.
bool compare(const ir::Kernel& kernel, const passes::Plan& plan, const std::vector<std::size_t>& order,
             Choices& choices) {
  const Machine start(kernel, choices);
  Machine machine = start;
  try {
    machine.run_kernel(steps);
  } catch (const CannotRun&) {
    return false;
  }
  try {
    EXPECT_EQ(run_tasks(start, plan, order), machine.contents()) << text_of(kernel, plan);
  } catch (const CannotRun&) {
    ADD_FAILURE() << "a task cannot run\n" << text_of(kernel, plan);
  }
  return true;
}

TEST(Equivalence, TasksOfRandomKernelsDoWhatTheKernelDoes) {
  int ran = 0, repeated = 0, phases = 0;
  for (std::uint64_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Choices choices(seed);
    const ir::Kernel kernel = random_kernel(choices);
    const auto plan = plan_of(kernel);
    if (!plan || !compare(kernel, *plan, program_order(*plan), choices)) continue;
    ++ran;
    repeated += !plan->repeats.empty();
    const passes::Plan phased = passes::make_plan(kernel, 8, {.phases = true});
    if (phased.tasks.size() == plan->tasks.size() && phased.repeats.size() == plan->repeats.size()) continue;
    if (compare(kernel, phased, program_order(phased), choices)) ++phases;
  }
  EXPECT_GT(ran, seeds / 8) << "too few kernels ran for a meaningful result";
  EXPECT_GT(repeated, seeds / 200);
  EXPECT_GT(phases, seeds / 20);
  RecordProperty("kernels", ran);
}

bool allows_conflicts(const ir::Kernel& kernel) {
  return std::any_of(kernel.body.statements.begin(), kernel.body.statements.end(),
                     [](const ir::Statement& s) { return s.op == ir::Op::region && s.immediate != 0; });
}

// proves R18 as far as the plan goes: blocks that pass the check produce the same results in any order
TEST(Equivalence, BlocksOfARegionMayRunInAnyOrder) {
  // One kernel of 130 has such regions, so a sanitized build draws as many as any other.
  constexpr std::uint64_t region_seeds = 4000;
  int ran = 0;
  for (std::uint64_t seed = 0; seed < region_seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Choices choices(seed);
    const ir::Kernel kernel = random_kernel(choices);
    if (allows_conflicts(kernel)) continue;
    const auto plan = plan_of(kernel);
    if (!plan || plan->region_blocks.empty() || !plan->repeats.empty()) continue;
    // A lenient machine wraps indices, and so makes different elements the same.
    if (std::any_of(plan->tasks.begin(), plan->tasks.end(),
                    [](const auto& planned) { return !planned.divided.empty(); }))
      continue;
    if (compare(kernel, *plan, backward_blocks(*plan), choices)) ++ran;
  }
  EXPECT_GT(ran, 5) << "too few kernels ran for a meaningful result";
  RecordProperty("kernels", ran);
}

TEST(Equivalence, TasksOfTheCorpusDoWhatTheKernelDoes) {
  for (const auto& path : files_of("tests/ir/kernels")) {
    SCOPED_TRACE(path.string());
    const ir::Kernel kernel = ir::parse(read_file(path), path.string());
    const passes::Plan plan = passes::make_plan(kernel, 8);
    Choices choices(1);
    compare(kernel, plan, program_order(plan), choices);
  }
}

TEST(Equivalence, TasksOfRandomKernelsKeepTheRules) {
  for (std::uint64_t seed = 0; seed < seeds && !HasFailure(); ++seed) {
    Choices choices(seed);
    const ir::Kernel kernel = random_kernel(choices);
    const auto plan = plan_of(kernel);
    if (!plan) continue;
    auto tasks = plan->tasks;
    for (const auto& planned : passes::make_plan(kernel, 8, {.phases = true}).tasks) tasks.push_back(planned);
    for (const auto& planned : tasks) {
      const auto diagnostics = ir::verify_task(kernel, planned.task);
      EXPECT_TRUE(diagnostics.empty()) << "seed " << seed << ": " << diagnostics.front().message << "\n"
                                       << text_of(kernel, *plan);
    }
  }
}

TEST(Equivalence, PlansDoNotDependOnIds) {
  for (std::uint64_t seed = 0; seed < seeds / 4 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Choices choices(seed);
    const ir::Kernel kernel = random_kernel(choices);
    const ir::Kernel other = renumbered(kernel, choices);
    const auto plan = plan_of(kernel);
    const auto other_plan = plan_of(other);
    ASSERT_EQ(plan.has_value(), other_plan.has_value());
    if (plan) {
      EXPECT_EQ(text_of(kernel, *plan), text_of(other, *other_plan));
      EXPECT_EQ(plan->scratch_bytes, other_plan->scratch_bytes);
    }
  }
}

}  // namespace
}  // namespace weir::test
