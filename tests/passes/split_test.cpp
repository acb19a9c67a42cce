// SPDX-License-Identifier: Apache-2.0
// Division of kernels into tasks, and the values that pass between them.
#include <gmock/gmock.h>

#include "occurrences.hpp"
#include "plans.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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

TEST(Split, RandomNumbersAreComputedAgain) {
  EXPECT_THAT(
      shape(plan("%k = launch_key : u64\n%u = cast %k : u32\n%r = philox.0 %u, %u, %u, %u, %u, %u : u32\n"
                 "%f = cast %r : f32\nparallel (%i) in (%zero to %len) {\n  store @x[%i], %f\n}")),
      ElementsAre("loop"));
}

TEST(Split, AccessesToSharedMemoryAreKept) {
  const ir::Kernel k = kernel(
      "%four = const 4 : i64\nparallel (%g, %t) in (%zero to %len, %zero to %four) group 4 {\nshared $s : "
      "i32[4]\n"
      "%w = const 1 : i32\nset $s[%t], %w\nbarrier\n%old = shared_atomic.add $s[%zero], %w : i32\nbarrier\n"
      "%r = get $s[%t] : i32\nlocal $v : i32\nset $v, %r\n%lane = const 0 : i32\n%x = shuffle.4 $v, %lane : "
      "i32\n"
      "local $b : bool\n%q = gt %r, %w : bool\nset $b, %q\n%y = ballot.4 $b : u32\n%z = cast %y : i32\n"
      "%e = add %x, %z : i32\nstore @n[%t], %e\n}");
  const std::string text = task_text(k, verified_plan(k).tasks.at(0));
  for (const char* const word : {"shared_atomic.add", "shuffle.4", "ballot.4"})
    EXPECT_THAT(text, HasSubstr(word));
  EXPECT_GE(occurrences(text, "set $"), 3u) << "the variables that other threads read";
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

TEST(Split, JumpsAreKeptWithTheConditionsAroundThem) {
  const ir::Kernel k = kernel(
      "parallel (%i) in (%zero to %len) {\n  %t = gt %i, %one : bool\n  if %t {\n    %dead = load @y[%i] : "
      "f32\n  }\n"
      "  for %k = %zero to %i step %one {\n    if %t {\n      if %t {\n        break\n      }\n    }\n"
      "    %f = const 1 : f32\n    store @x[%k], %f\n  }\n}");
  EXPECT_EQ(task_text(k, verified_plan(k).tasks[0]), R"({
  %0 = const 0 : i64
  %1 = const 1 : i64
  %2 = extent @x, 0 : i64
  parallel (%3) in (%0 to %2) {
    %4 = gt %3, %1 : bool
    for %5 = %0 to %3 step %1 {
      if %4 {
        if %4 {
          break
        }
      }
      %6 = const 1 : f32
      store @x[%5], %6
    }
  }
}
)");
}

// An array of one element takes no index in scratch memory, unless its index is checked.
TEST(Split, SharedArraysHaveIndices) {
  const auto text = [](const std::string& count, const std::string& options) {
    const ir::Kernel k =
        kernel("local $v : f32[" + count +
                   "]\n%f = arg @a : f32\n%c = arg @c : i64\nset $v[%c], %f\n"
                   "parallel (%i) in (%zero to %len) {\n  %g = get $v[%zero] : f32\n  store @x[%i], %g\n}",
               options);
    const passes::Plan p = verified_plan(k, {});
    return task_text(k, p.tasks.at(0)) + task_text(k, p.tasks.at(1));
  };
  EXPECT_THAT(text("2", ""),
              testing::AllOf(HasSubstr("scratch.store 0[%6], %5"), HasSubstr("scratch.load 0[%0]")));
  EXPECT_THAT(text("1", ""),
              testing::AllOf(Not(HasSubstr("scratch.store 0[")), HasSubstr("scratch.load 0 : f32")));
  const ir::Kernel k = kernel(
      "local $v : f32\n%f = arg @a : f32\n%c = arg @c : i64\nset $v[%c], %f\n"
      "parallel (%i) in (%zero to %len) {\n  %g = get $v : f32\n  store @x[%i], %g\n}",
      "check_bounds");
  EXPECT_THAT(task_text(k, verified_plan(k).tasks.at(0)), HasSubstr("set $0[%")) << "of any access";
  EXPECT_THAT(text("1", "check_bounds"), testing::AllOf(HasSubstr("set $0[%"), HasSubstr("get $0[%0]")));
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

TEST(Split, SymbolsHaveLettersAndDigitsOfTheKernelsName) {
  const auto name_of = [](const std::string& kernels, std::uint32_t part = 0) {
    ir::Kernel k = kernel(fill("x", "0"));
    k.name = kernels;
    k.part = part;
    return passes::make_plan(k, 8).tasks.at(0).task.name;
  };
  EXPECT_EQ(name_of("azAZ09"), "azAZ09_0_loop");
  EXPECT_EQ(name_of("a`{b@[c/:d"), "a_b_c_d_0_loop") << "neighbours of the ranges";
  EXPECT_EQ(name_of("0"), "k0_0_loop");
  EXPECT_EQ(name_of("9"), "k9_0_loop");
  EXPECT_EQ(name_of("..."), "k_0_loop");
  EXPECT_EQ(name_of(".a."), "_a_0_loop");
  EXPECT_EQ(name_of("a_"), "a_0_loop");
  EXPECT_EQ(name_of(std::string(48, 'n') + "more"), std::string(48, 'n') + "_0_loop");
  EXPECT_EQ(name_of("k", 1), "k_0_loop");
  EXPECT_EQ(name_of("k", 2), "k_part2_0_loop");
}

TEST(Split, KernelsThatAreNoneAreRefused) {
  const auto message = [](const ir::Kernel& kernel, std::uint32_t address_bytes = 8) -> std::string {
    try {
      passes::make_plan(kernel, address_bytes);
    } catch (const Error& error) {
      return std::string(to_string(error.code())) + ": " + error.what();
    }
    return "";
  };
  ir::Kernel k = kernel(fill("x", "0"));
  EXPECT_EQ(message(k, 9), "invalid argument: an address takes 8 or 16 bytes in argument blocks, found 9");
  EXPECT_EQ(message(k, 16), "");
  k.algorithms.emplace_back();
  EXPECT_THAT(message(k), HasSubstr("invalid argument: a plan is of a kernel without algorithms"));
  k.algorithms.clear();
  ir::Statement& store = k.body.statements.back().bodies[0].statements.back();
  store.operands.back() = k.value_count + 5;
  EXPECT_NE(message(k), "") << "a value that nothing defines";
}

// A sum of 256 values is computed again; a longer one is not.
TEST(Split, ValuesThatCost256OperationsAreComputedAgain) {
  const auto sums = [](int count) {
    std::string body = "%v0 = arg @c : i64\n";
    for (int i = 1; i < count; ++i)
      body += "%v" + std::to_string(i) + " = neg %v" + std::to_string(i - 1) + " : i64\n";
    const std::string last = "%v" + std::to_string(count - 1);
    return shape(
        plan(body + "parallel (%i) in (%zero to " + last + ") {\n%f = const 1 : f32\nstore @x[%i], %f\n}"));
  };
  EXPECT_THAT(sums(256), ElementsAre("loop"));
  EXPECT_THAT(sums(257), ElementsAre("serial", "loop"));
}

TEST(Split, UnreadVariablesAreSetOnlyIfTheIndexCanFail) {
  const std::string values = "local $v : f32[3]\n%f = const 1 : f32\n%c = arg @c : i64\n";
  const auto text_of_all = [](const std::string& body) {
    const ir::Kernel k = kernel(body + "store @x[%zero], %f\n", "check_bounds");
    return task_text(k, passes::make_plan(k, 8).tasks.at(0));
  };
  EXPECT_THAT(shape(plan(values + "set $v[%c], %f\n")), IsEmpty());
  EXPECT_THAT(text_of_all(values + "set $v[%c], %f\n"), HasSubstr("set $0[%"));
  EXPECT_THAT(text_of_all(values + "%g = get $v[%c] : f32\n"), HasSubstr("get $0[%"));
  EXPECT_THAT(text_of_all("local $v : f32\n%f = const 1 : f32\nset $v, %f\n"), Not(HasSubstr("set $0")));
  EXPECT_THAT(text_of_all("local $v : f32\n%f = const 1 : f32\n%g = get $v : f32\n"),
              Not(HasSubstr("get $0")));
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

/// The places that the tasks of a kernel store to in scratch memory, in order.
std::vector<std::uint64_t> stored_places(const passes::Plan& plan) {
  std::vector<std::uint64_t> places;
  for (const passes::PlannedTask& planned : plan.tasks)
    for (const ir::Statement& s : planned.task.body.statements)
      if (s.op == ir::Op::scratch_store) places.push_back(s.immediate);
  return places;
}

TEST(Split, PlacesInScratchAreAligned) {
  const std::string test =
      "%b = load @n[%zero] : i32\n%t = gt %b, %b : bool\nlocal $t : bool\nset $t, %t\n%u = get $t : bool\n";
  const std::string uses = "parallel (%i) in (%zero to %len) {\nif %u {\nstore @x[%i], %f\n}\n";
  const passes::Plan one = plan("%f = const 1 : f32\n" + test + uses + "}\n");
  EXPECT_THAT(stored_places(one), ElementsAre(0));
  EXPECT_EQ(one.scratch_bytes, 64u) << "whole cache lines";
  const passes::Plan p =
      plan("%f = const 1 : f32\n" + test + "local $d : f64\n%e = load @m[%zero, %zero] : f64\nset $d, %e\n" +
           uses + "%g = get $d : f64\nstore @m[%i, %zero], %g\n}\n");
  EXPECT_THAT(stored_places(p), ElementsAre(0, 8, 8));
}

// Those of different stream blocks are in different lines; those of one block share lines.
TEST(Split, PlacesOfStreamBlocksShareNoLine) {
  const auto block = [](const std::string& tag, const std::string& array) {
    return "%b" + tag + " = load @z[%zero] : f32\n%c" + tag + " = load @z[%one] : f32\n%t" + tag +
           " = gt %b" + tag + ", %c" + tag + " : bool\nlocal $t" + tag + " : bool\nset $t" + tag + ", %t" +
           tag + "\n%u" + tag + " = get $t" + tag + " : bool\nparallel (%i" + tag +
           ") in (%zero to %len) {\nif %u" + tag + " {\nstore @" + array + "[%i" + tag + "], %f\n}\n}\n";
  };
  const passes::Plan p = plan("%f = const 1 : f32\n%q = const true : bool\nregion {\n" + block("1", "x") +
                              block("2", "x") + "} and {\n" + block("3", "y") + "}\n");
  EXPECT_THAT(stored_places(p), ElementsAre(0, 1, 64));
  EXPECT_EQ(p.scratch_bytes, 128u);
  const passes::Plan one =
      plan("%f = const 1 : f32\nregion {\n" + block("1", "x") + "} and {\n" + block("3", "y") + "}\n");
  EXPECT_THAT(stored_places(one), ElementsAre(0, 64));
}

TEST(Split, MoreThanAGigabyteOfScratchIsRefused) {
  std::string sums;
  for (int i = 0; i < 4095; ++i) {
    const std::string n = std::to_string(i);
    sums += "%s" + n + " = reduce.sum (%i" + n + ") in (%zero to %len) : i64 {\nyield %i" + n + "\n}\n%f" +
            n + " = cast %s" + n + " : f32\nstore @x[%zero], %f" + n + "\n";
  }
  EXPECT_EQ(refusal(sums),
            "kernel \"k\" passes 1074003840 bytes between its loops, at most 1073741824 are possible; split "
            "it into "
            "several kernels");
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
