// SPDX-License-Identifier: Apache-2.0
// Division of kernels into tasks, and the values that pass between them.
#include <gmock/gmock.h>

#include "plans.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Shape = std::vector<std::string>;

TEST(Split, AnEmptyKernelHasNoTasks) {
  EXPECT_THAT(shape(plan("")), IsEmpty());
}

TEST(Split, PureValuesAloneMakeNoTask) {
  EXPECT_THAT(shape(plan("%a = arg @a : f32\n%s = math.sin %a : f32\n%k = launch_key : u64")), IsEmpty());
}

TEST(Split, ALoadThatNobodyUsesMakesNoTask) {
  EXPECT_THAT(shape(plan("%v = load @x[%zero] : f32")), IsEmpty());
}

TEST(Split, ALoopWithoutEffectMakesNoTask) {
  EXPECT_THAT(shape(plan("parallel (%i) in (%zero to %len) {\n  %v = load @x[%i] : f32\n}")), IsEmpty());
}

TEST(Split, AReductionThatNobodyUsesMakesNoTask) {
  EXPECT_THAT(
      shape(plan("%s = reduce.sum (%i) in (%zero to %len) : f32 {\n  %v = load @x[%i] : f32\n  yield %v\n}")),
      IsEmpty());
}

TEST(Split, ADeadLocalVariableMakesNoTask) {
  EXPECT_THAT(shape(plan("local $0 : f32\n%a = arg @a : f32\nset $0, %a")), IsEmpty());
}

TEST(Split, EachLoopIsATask) {
  EXPECT_THAT(shape(plan(fill("x", "0") + fill("y", "1"))), ElementsAre("loop", "loop"));
}

TEST(Split, OneSerialTaskStandsForEachStretchBetweenLoops) {
  EXPECT_THAT(shape(plan("%f = const 1 : f32\nstore @y[%zero], %f\nstore @y[%one], %f\n" + fill("x", "0") +
                         "store @z[%zero], %f\n")),
              ElementsAre("serial", "loop", "serial"));
}

// A failed task ends early. A later loop must not read its bound from memory that was never written.
TEST(Split, WhatATaskThatCanFailHandsOnIsZeroFirst) {
  const ir::Kernel k = kernel(
      "%count = load @n[%one] : i32\n%bound = cast %count : i64\n%f = arg @a : f32\n"
      "parallel (%i) in (%zero to %bound) {\n  store @x[%i], %f\n}",
      "check_bounds");
  const passes::Plan p = passes::make_plan(k, 8);
  ASSERT_THAT(shape(p), ElementsAre("serial", "loop"));
  EXPECT_EQ(task_text(k, p.tasks[0]), R"({
  %0 = const 0 : i32
  scratch.store 0, %0
  %1 = const 1 : i64
  %2 = load @n[%1] : i32
  scratch.store 0, %2
}
)");
}

TEST(Split, PureValuesAreComputedAgainWhereTheyAreUsed) {
  const ir::Kernel k = kernel("%a = arg @a : f32\n%s = math.sin %a : f32\n" +
                              std::string("parallel (%i) in (%zero to %len) {\n  store @x[%i], %s\n}\n"
                                          "parallel (%j) in (%zero to %len) {\n  store @y[%j], %s\n}"));
  const passes::Plan p = passes::make_plan(k, 8);
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_EQ(p.scratch_bytes, 0u);
  EXPECT_EQ(task_text(k, p.tasks[1]), R"({
  %0 = const 0 : i64
  %1 = extent @x, 0 : i64
  %2 = arg @a : f32
  %3 = math.sin %2 : f32
  parallel (%4) in (%0 to %1) {
    store @y[%4], %3
  }
}
)");
}

TEST(Split, WhatIsExpensiveToComputeAgainTravelsThroughScratch) {
  std::string body = "%v0 = arg @c : i64\n";
  for (int i = 1; i <= 300; ++i) {
    body += "%v" + std::to_string(i) + " = add %v" + std::to_string(i - 1) + ", %one : i64\n";
  }
  const passes::Plan p =
      plan(body + "parallel (%i) in (%zero to %v300) {\n  %f = const 1 : f32\n  store @x[%i], %f\n}");
  EXPECT_THAT(shape(p), ElementsAre("serial", "loop"));
  EXPECT_EQ(p.tasks[1].high[0].kind, passes::HostBound::Kind::device);
}

TEST(Split, ALoadedValueTravelsToTheLoopThatUsesIt) {
  const ir::Kernel k =
      kernel("%v = load @y[%zero] : f32\nparallel (%i) in (%zero to %len) {\n  store @x[%i], %v\n}");
  const passes::Plan p = passes::make_plan(k, 8);
  ASSERT_THAT(shape(p), ElementsAre("serial", "loop"));
  EXPECT_EQ(task_text(k, p.tasks[0]), R"({
  %0 = const 0 : i64
  %1 = load @y[%0] : f32
  scratch.store 0, %1
}
)");
  EXPECT_EQ(task_text(k, p.tasks[1]), R"({
  %0 = const 0 : i64
  %1 = extent @x, 0 : i64
  %2 = scratch.load 0 : f32
  parallel (%3) in (%0 to %1) {
    store @x[%3], %2
  }
}
)");
}

TEST(Split, AValueUsedOnlyWhereItIsLoadedDoesNotTravel) {
  EXPECT_EQ(plan("%v = load @x[%zero] : f32\nstore @y[%zero], %v").scratch_bytes, 0u);
}

TEST(Split, ALoadStandsBeforeTheStoreThatFollowsIt) {
  const ir::Kernel k = kernel("%v = load @x[%zero] : f32\n" + fill("x", "0") + "store @y[%zero], %v");
  EXPECT_THAT(shape(passes::make_plan(k, 8)), ElementsAre("serial", "loop", "serial"));
}

TEST(Split, ALocalOfOneTaskStaysInIt) {
  const ir::Kernel k = kernel(
      "local $0 : f32\n%v = load @x[%zero] : f32\nset $0, %v\n%g = get $0 : f32\n"
      "store @y[%zero], %g");
  const passes::Plan p = passes::make_plan(k, 8);
  EXPECT_EQ(p.scratch_bytes, 0u);
  EXPECT_THAT(task_text(k, p.tasks[0]), HasSubstr("local $0 : f32"));
}

TEST(Split, ALocalThatTwoTasksTouchLivesInScratch) {
  const ir::Kernel k = kernel(
      "local $0 : f32\n%v = load @y[%zero] : f32\nset $0, %v\n"
      "parallel (%i) in (%zero to %len) {\n  %g = get $0 : f32\n  store @x[%i], %g\n}");
  const passes::Plan p = passes::make_plan(k, 8);
  ASSERT_THAT(shape(p), ElementsAre("serial", "loop"));
  EXPECT_EQ(task_text(k, p.tasks[0]), R"({
  %0 = const 0 : i64
  %1 = const 0 : f32
  scratch.store 0, %1
  %2 = load @y[%0] : f32
  scratch.store 0, %2
}
)");
  EXPECT_EQ(task_text(k, p.tasks[1]), R"({
  %0 = const 0 : i64
  %1 = extent @x, 0 : i64
  %2 = scratch.load 0 : f32
  parallel (%3) in (%0 to %1) {
    store @x[%3], %2
  }
}
)");
}

TEST(Split, ALocalArrayThatTwoTasksTouchIsClearedInALoop) {
  const ir::Kernel k = kernel(
      "local $0 : i32[5]\n"
      "parallel (%i) in (%zero to %len) {\n  %g = get $0[%i] : i32\n  store @n[%i], %g\n}");
  const passes::Plan p = passes::make_plan(k, 8);
  EXPECT_EQ(task_text(k, p.tasks[0]), R"({
  %0 = const 0 : i32
  %1 = const 0 : i64
  %2 = const 5 : i64
  %3 = const 1 : i64
  for %4 = %1 to %2 step %3 {
    scratch.store 0[%4], %0
  }
}
)");
  EXPECT_THAT(task_text(k, p.tasks[1]), HasSubstr("scratch.load 0[%2] : i32"));
}

TEST(Split, ALocalArrayWithCheckedIndicesIsCopiedIntoTheTaskSoThatTheCheckCoversIt) {
  const ir::Kernel k = kernel(
      "local $0 : i32[5]\n"
      "parallel (%i) in (%zero to %len) {\n  %g = get $0[%i] : i32\n  store @n[%i], %g\n}",
      "check_bounds");
  const passes::Plan p = passes::make_plan(k, 8);
  EXPECT_THAT(task_text(k, p.tasks[1]), HasSubstr("get $0[%"));
}

const char* const least_x =
    "%s = reduce.min (%i) in (%zero to %len) : f32 {\n  %v = load @x[%i] : f32\n  yield %v\n}\n";

const char* const fill_y_with_it = "parallel (%j) in (%zero to %len) {\n  store @y[%j], %s\n}\n";

TEST(Split, AReductionIsAPartialTaskAndOneThatCombines) {
  const passes::Plan p = plan(std::string(least_x) + fill_y_with_it);
  ASSERT_THAT(shape(p), ElementsAre("reduce", "combine", "loop"));
  EXPECT_EQ(p.tasks[0].task.reduce_kind, ir::ReduceKind::min);
  EXPECT_EQ(p.tasks[1].task.reduce_type, ScalarType::f32);
  EXPECT_EQ(p.tasks[1].task.partials_offset, p.tasks[0].task.partials_offset);
  EXPECT_EQ(p.tasks[1].task.result_offset, p.tasks[0].task.result_offset);
  EXPECT_TRUE(p.tasks[1].task.body.statements.empty());
}

TEST(Split, TheResultOfAReductionArrivesThroughScratch) {
  const ir::Kernel k = kernel(std::string(least_x) + fill_y_with_it);
  const passes::Plan p = passes::make_plan(k, 8);
  const std::string offset = std::to_string(p.tasks[0].task.result_offset);
  EXPECT_THAT(task_text(k, p.tasks[2]), HasSubstr("scratch.load " + offset + " : f32"));
}

TEST(Split, WhatStandsDirectlyBehindAReductionRunsInItsLastTask) {
  const ir::Kernel k = kernel(std::string(least_x) + "store @y[%zero], %s\n" + fill("z", "0"));
  const passes::Plan p = passes::make_plan(k, 8);
  ASSERT_THAT(shape(p), ElementsAre("reduce", "combine", "loop"));
  const std::string offset = std::to_string(p.tasks[1].task.result_offset);
  EXPECT_EQ(p.tasks[1].task.result_offset, p.tasks[0].task.result_offset);
  EXPECT_EQ(task_text(k, p.tasks[1]),
            "{\n  %0 = const 0 : i64\n  %1 = scratch.load " + offset + " : f32\n  store @y[%0], %1\n}\n");
}

TEST(Split, OfTwoReductionsInARowTheLastTakesWhatStandsBehind) {
  EXPECT_THAT(
      shape(plan(std::string(least_x) +
                 "%b = reduce.max (%j) in (%zero to %len) : f32 {\n  %w = load @x[%j] : f32\n  yield %w\n}\n"
                 "store @y[%zero], %s\nstore @y[%one], %b")),
      ElementsAre("reduce", "combine", "reduce", "combine"));
}

TEST(Split, WhatStandsBehindALoopDoesNotJoinTheReductionInFrontOfIt) {
  EXPECT_THAT(shape(plan(std::string(least_x) + fill("z", "0") + "store @y[%zero], %s")),
              ElementsAre("reduce", "combine", "loop", "serial"));
}

TEST(Split, DeadStatementsInsideALoopAreDropped) {
  const ir::Kernel k = kernel(
      "parallel (%i) in (%zero to %len) {\n  %v = load @y[%i] : f32\n  %w = math.sin %v : f32\n"
      "  %f = const 1 : f32\n  store @x[%i], %f\n}");
  EXPECT_EQ(task_text(k, passes::make_plan(k, 8).tasks[0]), R"({
  %0 = const 0 : i64
  %1 = extent @x, 0 : i64
  parallel (%2) in (%0 to %1) {
    %3 = const 1 : f32
    store @x[%2], %3
  }
}
)");
}

TEST(Split, AConditionalContinueIsNotDropped) {
  const ir::Kernel k = kernel(
      "parallel (%i) in (%zero to %len) {\n  %t = gt %i, %one : bool\n  if %t {\n    continue\n  }\n"
      "  %f = const 1 : f32\n  store @x[%i], %f\n}");
  EXPECT_THAT(task_text(k, passes::make_plan(k, 8).tasks[0]), HasSubstr("continue"));
}

TEST(Split, ACheckedLoadIsNotDroppedSinceItMayFail) {
  EXPECT_THAT(shape(plan("%v = load @x[%zero] : f32", "check_bounds")), ElementsAre("serial"));
}

TEST(Split, NamesAreSymbolsMadeOfTheKernelsNameAndUnique) {
  ir::Kernel k =
      kernel(fill("x", "0") + "%f = const 1 : f32\nstore @x[%zero], %f\n" +
             "%s = reduce.sum (%r) in (%zero to %len) : f32 {\n  yield %f\n}\nstore @y[%zero], %s");
  k.name = "2nd step: \"\xc3\xa9\"";
  const passes::Plan p = passes::make_plan(k, 8);
  std::vector<std::string> names;
  for (const auto& planned : p.tasks) names.push_back(planned.task.name);
  EXPECT_THAT(names, ElementsAre("k2nd_step_0_loop", "k2nd_step_1_serial", "k2nd_step_2_reduce",
                                 "k2nd_step_3_combine"));
}

// proves R23 as far as the plan goes: every slot is an offset into memory that belongs to one launch
TEST(Split, EverySlotHasItsOwnPlaceInTheLaunchsScratch) {
  const passes::Plan p = plan(
      "%u = load @x[%zero] : f32\n%v = load @n[%zero] : i32\n%w = load @m[%zero, %zero] : f64\n"
      "parallel (%i) in (%zero to %len) {\n  store @x[%i], %u\n  store @n[%i], %v\n  store @m[%i, %zero], "
      "%w\n}");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> slots;
  for (const ir::Statement& s : p.tasks[0].task.body.statements) {
    if (s.op == ir::Op::scratch_store) slots.emplace_back(s.immediate, s.immediate + size_of(s.type));
  }
  ASSERT_EQ(slots.size(), 3u);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_LE(slots[i].second, p.scratch_bytes);
    if (i > 0) {
      EXPECT_GE(slots[i].first, slots[i - 1].second);
    }
  }
}

// Chunks of two reductions may run at the same time.
TEST(Split, EachReductionHasItsOwnPartials) {
  const passes::Plan p =
      plan("%s = reduce.sum (%i) in (%zero to %len) : f32 {\n%v = load @x[%i] : f32\nyield %v\n}\n"
           "%t = reduce.sum (%j) in (%zero to %len) : f32 {\n%w = load @y[%j] : f32\nyield %w\n}\n"
           "store @z[%zero], %s\nstore @z[%one], %t\n");
  std::vector<std::uint64_t> places;
  for (const auto& planned : p.tasks)
    if (planned.task.kind == ir::TaskKind::reduce_partial) places.push_back(planned.task.partials_offset);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_GE(places[1], places[0] + ir::reduce_bytes);
  EXPECT_LE(places[1] + ir::reduce_bytes, p.scratch_bytes);
  for (const std::uint64_t place : places) EXPECT_EQ(place % 64, 0u) << "of a cache line";
}

}  // namespace
}  // namespace weir::test
