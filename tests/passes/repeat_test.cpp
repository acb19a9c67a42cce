// SPDX-License-Identifier: Apache-2.0
// Repetitions in plans: tasks that the host submits several times, and tasks of phases.
#include <gmock/gmock.h>

#include <algorithm>

#include "plans.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using BoundKind = passes::HostBound::Kind;

std::string repeat(const std::string& tag, const std::string& count, const std::string& body) {
  return "repeat (%k" + tag + ") to " + count + " {\n" + body + "}\n";
}

TEST(Repeat, TheHostSubmitsTasksWhoseCountItKnows) {
  const passes::Plan p = plan("%arg = arg @c : i64\n" + fill("x", "0") +
                              repeat("", "%arg", fill("y", "1") + copy("y", "z", "2")) + fill("x", "3"));
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop", "loop", "loop"));
  ASSERT_EQ(p.repeats.size(), 1u);
  EXPECT_EQ(p.repeats[0].begin, 1u);
  EXPECT_EQ(p.repeats[0].end, 3u);
  EXPECT_EQ(p.repeats[0].count.kind, BoundKind::scalar);
}

TEST(Repeat, CountsAndBoundsMayUseTheNumbersOfOuterRepetitions) {
  const passes::Plan p = plan(
      repeat("0", "%len",
             "%next = add %k0, %one : i64\n" + repeat("1", "%next",
                                                      "parallel (%i) in (%k1 to %len) {\n%f = const 1 : f32\n"
                                                      "store @x[%i], %f\n}\n")));
  EXPECT_THAT(shape(p), ElementsAre("loop"));
  ASSERT_EQ(p.repeats.size(), 2u);
  EXPECT_FALSE(p.repeats[0].count.varies);
  EXPECT_TRUE(p.repeats[1].count.varies);
  EXPECT_EQ(p.repeats[1].depth, 1u);
  EXPECT_TRUE(p.tasks[0].vary());
}

TEST(Repeat, CountsOfTheDeviceMakeOneTaskOfPhases) {
  const passes::Plan p = plan(loaded_count + repeat("", "%count", fill("y", "1") + copy("y", "z", "2")));
  EXPECT_THAT(shape(p), ElementsAre("serial", "phases"));
  EXPECT_THAT(p.repeats, IsEmpty());
  EXPECT_EQ(p.tasks[1].phases.size(), 2u);
}

TEST(Repeat, ConditionsMakeOneTaskOfPhases) {
  const std::string body =
      "local $s : f32\nrepeat (%k) to %len while {\n"
      "%sum = reduce.sum (%i) in (%zero to %len) : f32 {\n%v = load @x[%i] : f32\nyield %v\n}\n"
      "%a = arg @a : f32\n%more = gt %sum, %a : bool\nyield %more\n} do {\n" +
      fill("x", "1") +
      "%old = get $s : f32\n%b = arg @a : f32\n%new = add %old, %b : f32\nset $s, %new\n}\n"
      "%end = get $s : f32\nstore @y[%zero], %end\n";
  const ir::Kernel k = kernel(body);
  const passes::Plan p = passes::make_plan(k, 8);
  EXPECT_THAT(shape(p), ElementsAre("serial", "phases", "serial"));
  const std::string text = task_text(k, p.tasks[1]);
  EXPECT_THAT(text, AllOf(HasSubstr("while {"), HasSubstr("reduce.sum"), HasSubstr("phase {"),
                          HasSubstr("scratch.store"), Not(HasSubstr("failed"))));
}

TEST(Repeat, CooperativeTasksHaveTheSamePhasesAndABarrier) {
  const ir::Kernel k = kernel(
      loaded_count + repeat("", "%count",
                            fill("y", "1") +
                                "%sum = reduce.sum (%i) in (%zero to %len) : f32 {\n%v = load @x[%i] : f32\n"
                                "yield %v\n}\nstore @z[%zero], %sum\n" +
                                copy("y", "x", "2")));
  const passes::Plan apart = passes::make_plan(k, 8), p = passes::make_plan(k, 8, {.cooperative = true});
  EXPECT_THAT(shape(p), ElementsAre("serial", "phases"));
  EXPECT_FALSE(apart.tasks[1].task.cooperative);
  EXPECT_FALSE(apart.has_cooperative);
  EXPECT_TRUE(p.has_cooperative);
  const ir::Task& task = p.tasks[1].task;
  EXPECT_TRUE(task.cooperative);
  EXPECT_EQ(task_text(k, p.tasks[1]), task_text(k, apart.tasks[1]));
  const auto is_barrier = [](const ir::TaskArgument& a) { return a.kind == ir::TaskArgument::Kind::barrier; };
  EXPECT_EQ(std::ranges::count_if(task.arguments, is_barrier), 1);
  EXPECT_EQ(p.scratch_bytes, apart.scratch_bytes);
  EXPECT_EQ(p.tasks[1].barriers, 4u)
      << "after two loops, before the combination of the reduction, and after the store";
}

TEST(Repeat, CooperativeTasksOfStreamBlocksHaveBarriersOfTheirOwn) {
  const auto part = [](const std::string& tag, const std::string& array) {
    return "%load" + tag + " = load @n[%zero] : i32\n%count" + tag + " = cast %load" + tag + " : i64\n" +
           repeat(tag, "%count" + tag, fill(array, "1" + tag) + fill(array, "2" + tag));
  };
  std::string region = "region {\n" + part("0", "x") + "}";
  region += " and {\n" + part("1", "y") + "} and {\n" + part("2", "z") + "}\n";
  const passes::Plan p = passes::make_plan(kernel(region), 8, {.cooperative = true});
  std::vector<int> used;
  for (const passes::PlannedTask& planned : p.tasks)
    for (const ir::TaskArgument& a : planned.task.arguments)
      if (a.kind == ir::TaskArgument::Kind::barrier) used.push_back(a.index);
  EXPECT_THAT(used, ElementsAre(0, 1, 2));
}

TEST(Repeat, AConditionOfAKernelThatCanFailEndsWithTheFirstFailure) {
  const ir::Kernel k = kernel(
      "repeat (%k) to %len while {\n%t = const true : bool\nyield %t\n} do {\n"
      "parallel (%i) in (%zero to %len) {\n%v = load @x[%i] : f32\n"
      "%ok = gt %v, %v : bool\nassert %ok, \"no\"\n}\n}\n");
  EXPECT_THAT(task_text(k, passes::make_plan(k, 8).tasks[0]), HasSubstr("failed"));
}

TEST(Repeat, ARepeatWithoutEffectMakesNoTask) {
  EXPECT_THAT(shape(plan(repeat("", "%len", "%v = load @x[%k] : f32\n"))), IsEmpty());
}

TEST(Repeat, LoopsInTheBodyAreMerged) {
  const passes::Plan p = passes::make_plan(kernel(repeat("", "%len", fill("y", "1") + copy("y", "z", "2"))),
                                           8, {passes::Fusion::same_space, {.no_alias = true}});
  EXPECT_THAT(shape(p), ElementsAre("loop"));
  EXPECT_EQ(p.tasks[0].merged.size(), 2u);
  EXPECT_EQ(p.repeats.size(), 1u);
}

TEST(Repeat, PhasesHoldConsecutiveTasksAndWholeRepeats) {
  const std::string body = fill("x", "0") + repeat("", "%len", fill("y", "1") + copy("y", "z", "2")) +
                           "region {\n" + fill("x", "3") + copy("x", "y", "4") + "} and {\n" +
                           fill("z", "5") + fill("z", "6") + "}\n" + fill("x", "7") + fill("y", "8");
  const passes::Plan p = passes::make_plan(kernel(body), 8, {.phases = true});
  EXPECT_THAT(shape(p), ElementsAre("phases", "phases", "phases"));
  EXPECT_THAT(p.repeats, IsEmpty());
  EXPECT_EQ(p.tasks[0].phases.size(), 3u);
  EXPECT_FALSE(p.tasks[0].cost_is_exact) << "of a repeat";
}

TEST(Repeat, OneTaskRunsTheBlocksOfARegion) {
  const std::string blocks =
      "{\n" + fill("x", "3") + copy("x", "y", "4") + "} and {\n" + fill("z", "5") + "}\n";
  const passes::Plan p = passes::make_plan(kernel("region " + blocks), 8, {.phases = true});
  ASSERT_THAT(shape(p), ElementsAre("phases"));
  EXPECT_THAT(p.region_blocks, IsEmpty());
  EXPECT_EQ(ir::region_blocks(p.tasks[0].task), 2u);
  EXPECT_EQ(p.tasks[0].phases.size(), 3u);
  EXPECT_TRUE(p.tasks[0].cost_is_exact);
  for (const passes::PlannedLoop& loop : p.tasks[0].phases) EXPECT_GE(loop.cost, 2u);
  EXPECT_THAT(shape(passes::make_plan(kernel("region " + blocks), 8)),
              ElementsAre("loop@0.0", "loop@0.0", "loop@0.1"))
      << "only where phases are wanted";
}

// Such blocks may wait for each other, so each keeps its stream.
TEST(Repeat, BlocksWhoseConflictsAreMeantKeepTheirTasks) {
  const std::string region =
      "region allow_conflicts {\n" + fill("x", "3") + fill("x", "4") + "} and {\n" + fill("x", "5") + "}\n";
  EXPECT_THAT(shape(passes::make_plan(kernel(region), 8, {.phases = true})),
              ElementsAre("phases@0.0", "loop@0.1"));
}

TEST(Repeat, OneTaskAloneHasNoPhases) {
  EXPECT_THAT(shape(passes::make_plan(kernel(fill("x", "0")), 8, {.phases = true})), ElementsAre("loop"));
}

TEST(Repeat, ARepeatOfOneTaskIsPhasesWhereEachTaskRunsOnce) {
  const ir::Kernel k = kernel(repeat("", "%len", fill("y", "1")));
  EXPECT_THAT(shape(passes::make_plan(k, 8, {.phases = true})), ElementsAre("loop"));
  EXPECT_THAT(shape(passes::make_plan(k, 8, {.phases = true, .each_once = true})), ElementsAre("phases"));
  EXPECT_THAT(shape(passes::make_plan(kernel(fill("y", "1")), 8, {.phases = true, .each_once = true})),
              ElementsAre("loop"));
}

TEST(Repeat, ARepeatOfOneTaskThatTheDeviceCountsIsPhases) {
  EXPECT_THAT(shape(plan(loaded_count + repeat("", "%count", fill("y", "1")))),
              ElementsAre("serial", "phases"));
  EXPECT_THAT(shape(plan(loaded_count + repeat("", "%count", "%dead = load @x[%k] : f32\n"))), IsEmpty());
}

TEST(Repeat, AReductionIsTwoTasksAndUnusedStatementsAreNone) {
  const auto phases = [](const std::string& body) {
    return shape(passes::make_plan(kernel(body), 8, {.phases = true}));
  };
  const std::string sum =
      "%s = reduce.sum (%i) in (%zero to %len) : f32 {\n%v = load @x[%i] : f32\nstore @y[%i], %v\nyield "
      "%v\n}\n";
  EXPECT_THAT(phases(sum), ElementsAre("phases"));
  EXPECT_THAT(phases(fill("x", "0") + "%dead = load @y[%zero] : f32\n"), ElementsAre("loop"));
}

TEST(Repeat, PhasesAreBetweenGroupLoops) {
  const std::string group =
      "parallel (%g, %t) in (%zero to %one, %zero to %four) group 4 {\n%f = const 1 : f32\nstore @x[%t], "
      "%f\n}\n";
  const std::string four = "%four = const 4 : i64\n";
  const auto phases = [&](const std::string& body, bool each_once = false) {
    return passes::make_plan(kernel(four + body), 8, {.phases = true, .each_once = each_once});
  };
  const passes::Plan p = phases(fill("z", "0") + group + fill("y", "1") + fill("z", "2"));
  ASSERT_THAT(shape(p), ElementsAre("loop", "loop", "phases"));
  EXPECT_EQ(p.tasks[2].phases.size(), 2u);
  const passes::Plan inside =
      phases(repeat("", "%len", group + fill("y", "1") + fill("z", "2")) + fill("y", "3"));
  EXPECT_THAT(shape(inside), ElementsAre("loop", "phases", "loop"));
  ASSERT_EQ(inside.repeats.size(), 1u);
  EXPECT_EQ(inside.repeats[0].end, 2u);
  EXPECT_THAT(shape(phases(fill("y", "0") + repeat("", "%len", group), true)), ElementsAre("loop", "loop"));
  EXPECT_THAT(shape(phases("region {\n" + group + "} and {\n" + fill("y", "1") + fill("y", "2") +
                           "} and {\n" + fill("z", "3") + fill("z", "4") + "}\n")),
              ElementsAre("loop@0.0", "phases@0.1", "phases@0.2"));
}

TEST(Repeat, AsManyStreamBlocksAreCooperativeAsThereAreBarriers) {
  std::string parameters, blocks;
  for (std::uint32_t b = 0; b <= ir::grid_barriers; ++b) {
    const std::string n = std::to_string(b);
    parameters += "  param @a" + n + " : array<i64, 0>\n  param @b" + n + " : array<i64, 0>\n";
    blocks += std::string(b == 0 ? "region" : " and") + " {\n%c" + n + " = load @a" + n +
              "[] : i64\nrepeat (%k" + n + ") to %c" + n + " {\nparallel (%i" + n + ") in (%k" + n +
              " to %c" + n + ") {\nstore @b" + n + "[], %i" + n + "\n}\n}\n}";
  }
  const passes::Plan p = passes::make_plan(
      ir::parse("weir-ir 1\nkernel \"k\"\n" + parameters + "{\n" + blocks + "\n}\n", "k.weir"), 8,
      {.cooperative = true});
  std::vector<std::int32_t> cooperative;
  for (const passes::PlannedTask& planned : p.tasks)
    if (planned.task.cooperative) cooperative.push_back(planned.block);
  EXPECT_THAT(cooperative, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Repeat, CooperativeTasksKnowWhatOthersRead) {
  const passes::Plan p = passes::make_plan(
      kernel(loaded_count + "%a = arg @a : f32\nlocal $first : f32\nset $first, %a\nlocal $v : f32[3]\n" +
             repeat("", "%count",
                    "%g = get $v[%zero] : f32\nset $v[%one], %g\n%h = get $first : f32\nset $first, %h\n" +
                        fill("x", "1")) +
             "parallel (%i) in (%zero to %len) {\n%u = get $v[%i] : f32\nstore @y[%i], %u\n}\n"),
      8, {.cooperative = true});
  ASSERT_THAT(shape(p), ElementsAre("serial", "phases", "loop"));
  EXPECT_THAT(p.tasks[1].task.read_by_others, ElementsAre(8))
      << "the array, after the count and the variable";
}

TEST(Repeat, PrintsHaveTheNumbersOfTheirRepetitions) {
  const passes::Plan p = plan(repeat("0", "%len", repeat("1", "%len", "print \"{}\", %len\n")));
  const ir::Statement& print = p.tasks.at(0).task.body.statements.back();
  EXPECT_EQ(print.op, ir::Op::print);
  EXPECT_EQ(print.operands.size(), 3u);
  EXPECT_EQ(print.immediate, 2u);
}

// Phases end where a repetition ends, and at the border of a stream block.
TEST(Repeat, PhasesStayInTheirRepetition) {
  const std::string inner = fill("x", "0") + repeat("1", "%len", fill("y", "1") + fill("z", "2"));
  const ir::Kernel k = kernel(repeat("0", "%len", inner + fill("x", "3")) + fill("y", "4"));
  const passes::Plan p = passes::make_plan(k, 8, {.phases = true});
  ASSERT_THAT(shape(p), ElementsAre("phases"));
  EXPECT_EQ(p.tasks[0].phases.size(), 5u);
  const passes::Plan host = passes::make_plan(k, 8);
  ASSERT_EQ(host.repeats.size(), 2u);
  EXPECT_EQ(host.repeats[0].begin, 0u);
  EXPECT_EQ(host.repeats[0].end, 4u);
  EXPECT_EQ(host.repeats[1].begin, 1u);
  EXPECT_EQ(host.repeats[1].end, 3u);
}

TEST(Repeat, GroupLoopsAreRefusedWhereTheDeviceCounts) {
  const std::string group =
      "parallel (%g, %t) in (%zero to %one, %zero to %four) group 4 {\n"
      "%f = const 1 : f32\nstore @x[%t], %f\n}\n";
  const std::string four = "%four = const 4 : i64\n";
  EXPECT_EQ(refusal(four + repeat("", "%len", group)), "");
  EXPECT_THAT(
      refusal(four + loaded_count + repeat("", "%count", group)),
      AllOf(HasSubstr("k.weir"), HasSubstr("group_for is inside the repeat at "), HasSubstr("Use a count")));
  EXPECT_THAT(refusal(four + "repeat (%k) to %len while {\n%t0 = const true : bool\nyield %t0\n} do {\n" +
                      group + "}\n"),
              AllOf(HasSubstr("which ends when a condition that the device computes is false;"),
                    HasSubstr("inside the repeat at k.weir:15:1")));
  EXPECT_THAT(refusal(four + loaded_count + repeat("", "%count", group)),
              HasSubstr("which ends when a count that the device computes is reached;"));
  EXPECT_THAT(shape(passes::make_plan(kernel(four + fill("x", "0") + group + fill("y", "1") + fill("z", "2")),
                                      8, {.phases = true})),
              ElementsAre("loop", "loop", "phases"));
  EXPECT_THAT(
      shape(passes::make_plan(
          kernel(four + "region {\n" + fill("x", "0") + fill("x", "1") + "} and {\n" + fill("z", "2") +
                 "} and {\nparallel (%g, %t) in (%zero to %one, %zero to %four) group 4 {\n"
                 "%f = const 1 : f32\nstore @y[%t], %f\n}\n}\n"),
          8, {.phases = true})),
      ElementsAre("phases@0.0", "loop@0.1", "loop@0.2"));
}

}  // namespace
}  // namespace weir::test
