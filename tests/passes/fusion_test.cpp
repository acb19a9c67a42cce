// SPDX-License-Identifier: Apache-2.0
// Which neighbouring loops are merged, and which are kept apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occurrences.hpp"
#include "plans.hpp"

namespace weir::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr passes::FusionAssumptions usual{.no_alias = true, .index32 = true};

passes::Plan fused(const std::string& body, passes::FusionAssumptions known = usual,
                   const std::string& options = "", passes::Fusion how = passes::Fusion::same_space) {
  return passes::make_plan(kernel(body, options), 8, {how, known});
}

passes::Plan shared(const std::string& body, passes::FusionAssumptions known = usual) {
  return fused(body, known, "", passes::Fusion::shared_index);
}

/// The reason why the first two loops stay apart, or "".
std::string reason(const passes::Plan& plan) {
  return plan.fusion.at(0).reason;
}

/// A loop over @x's extent with index %iTAG and the given statements.
std::string loop(const std::string& tag, const std::string& statements,
                 const std::string& bounds = "%zero to %len") {
  return "parallel (%i" + tag + ") in (" + bounds + ") {\n" + statements + "\n}\n";
}

/// Stores a constant to an element.
std::string put(const std::string& place, const std::string& tag) {
  return "%p" + tag + " = const 2 : f32\nstore @" + place + ", %p" + tag + "\n";
}
/// Loads an element and stores it to @z[%iTAG].
std::string take(const std::string& place, const std::string& tag) {
  return "%t" + tag + " = load @" + place + " : f32\nstore @z[%i" + tag + "], %t" + tag + "\n";
}

TEST(Fusion, LoopsOverOneSpaceWithDependencesWithinTheIterationAreOneTask) {
  const passes::Plan p = fused(copy("x", "y", "1") + copy("y", "z", "2"));
  ASSERT_THAT(shape(p), ElementsAre("loop"));
  EXPECT_EQ(p.tasks[0].merged.size(), 2u);
  EXPECT_EQ(p.tasks[0].merged[0].location.line + 4, p.tasks[0].merged[1].location.line);
}

TEST(Fusion, IsOffUnlessAskedFor) {
  EXPECT_THAT(shape(plan(copy("x", "y", "1") + copy("y", "z", "2"))), ElementsAre("loop", "loop"));
}

TEST(Fusion, AStoredValueIsNotLoadedAgain) {
  const ir::Kernel k = kernel(copy("x", "y", "1") + copy("y", "z", "2"));
  const passes::Plan p = passes::make_plan(k, 8, {passes::Fusion::same_space, usual});
  const std::string text = task_text(k, p.tasks.at(0));
  EXPECT_THAT(text, Not(HasSubstr("load @y")));
  EXPECT_THAT(text, HasSubstr("store @y"));
}

TEST(Fusion, AStoreUnderAConditionDoesNotReplaceTheLoad) {
  const std::string body = "%c = arg @c : i64\n" +
                           loop("1", "%c1 = lt %i1, %c : bool\nif %c1 {\n" + put("y[%i1]", "1") + "}\n") +
                           loop("2", take("y[%i2]", "2"));
  const ir::Kernel whole = kernel(body);
  const passes::Plan p = passes::make_plan(whole, 8, {passes::Fusion::same_space, usual});
  ASSERT_THAT(shape(p), ElementsAre("loop"));
  EXPECT_THAT(task_text(whole, p.tasks.at(0)), HasSubstr("load @y"));
}

/// The only task of the merged kernel, as text.
std::string merged_text(const std::string& body, passes::Fusion how = passes::Fusion::same_space,
                        passes::FusionAssumptions known = usual) {
  const ir::Kernel whole = kernel(body);
  const passes::Plan p = passes::make_plan(whole, 8, {how, known});
  EXPECT_EQ(p.tasks.size(), 1u);
  return task_text(whole, p.tasks.at(0));
}

// A later iteration of the inner loop reads what an earlier one has stored.
TEST(Fusion, ALoadInALoopThatStoresTheElementStays) {
  const std::string twice = "%v = load @y[%i2] : f32\n%w = add %v, %v : f32\nstore @y[%i2], %w\n";
  const std::string whole_loop = "for %k = %zero to %c step %one {\n" + twice + "}\n";
  const std::string while_loop =
      "while {\n%v0 = load @y[%i2] : f32\n%t = lt %v0, %a : bool\nyield %t\n} do {\n" + twice + "}\n";
  for (const auto& [inner, loads] : {std::pair(whole_loop, 1u), std::pair(while_loop, 2u)}) {
    const std::string text = merged_text("%c = arg @c : i64\n%a = arg @a : f32\n" +
                                         loop("1", put("y[%i1]", "1")) + loop("2", inner));
    EXPECT_EQ(occurrences(text, "load @y"), loads) << text;
  }
}

TEST(Fusion, LoopsOfRegionsPassValuesInRegisters) {
  const std::string two = copy("x", "y", "1") + copy("y", "y", "2");
  const ir::Kernel whole = kernel("region {\n" + two + "} and {\n" + copy("x", "z", "3") + "}\n");
  const passes::Plan p = passes::make_plan(whole, 8, {passes::Fusion::same_space, usual});
  ASSERT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.1"));
  EXPECT_EQ(occurrences(task_text(whole, p.tasks[0]), "load @y"), 0u);
}

TEST(Fusion, AStoreThatTheNextLoopOverwritesIsDropped) {
  const std::string text = merged_text(loop("1", put("y[%i1]", "1")) + loop("2", put("y[%i2]", "2")));
  EXPECT_EQ(occurrences(text, "store @y"), 1u);
}

TEST(Fusion, AStoreStaysIfSomethingMayReadItOrEndTheIteration) {
  const auto between = [&](const std::string& statements) {
    return merged_text("%c = arg @c : i64\n" + loop("1", put("y[%i1]", "1")) +
                       loop("2", statements + put("y[%i2]", "2")));
  };
  const std::string test = "%t = lt %i2, %c : bool\n";
  EXPECT_EQ(occurrences(between(test + "if %t {\ncontinue\n}\n"), "store @y"), 2u);
  EXPECT_EQ(occurrences(between(test + "if %t {\n" + put("y[%i2]", "3") + "}\n"), "store @y"), 3u);
  EXPECT_EQ(occurrences(between("%a = const 1 : f32\n%o = atomic.add @x[%i2], %a : f32\n"), "store @y"), 2u);
}

// ---- R25: elements that another iteration writes

struct Place {
  const char* name;
  const char* statements;  // define %k from %i2
  bool merges;
};

class OtherIterations : public ::testing::TestWithParam<Place> {};

// proves R25
TEST_P(OtherIterations, KeepLoopsApart) {
  const std::string body = "%two = const 2 : i64\n%c = arg @c : i64\n" + loop("1", put("y[%i1]", "1")) +
                           loop("2", GetParam().statements + take("y[%k]", "2"));
  const passes::Plan p = fused(body);
  if (GetParam().merges) {
    EXPECT_THAT(shape(p), ElementsAre("loop"));
  } else {
    EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
    EXPECT_THAT(reason(p), HasSubstr("@y is stored at "));
    EXPECT_THAT(reason(p), HasSubstr("by different iterations"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , OtherIterations,
    ::testing::Values(Place{"Same", "%k = add %i2, %zero : i64\n", true},
                      Place{"ThereAndBack", "%k1 = add %i2, %c : i64\n%k = sub %k1, %c : i64\n", true},
                      Place{"Half", "%k = div %i2, %two : i64\n", false},
                      Place{"Remainder", "%k = rem %i2, %two : i64\n", false},
                      Place{"Least", "%k = min %i2, %c : i64\n", false},
                      Place{"First", "%k = sub %zero, %zero : i64\n", false},
                      Place{"LowBit", "%k = and %i2, %one : i64\n", false},
                      Place{"Neighbour", "%k = sub %i2, %one : i64\n", false},
                      Place{"Shifted", "%k = add %i2, %c : i64\n", false},
                      Place{"Double", "%k = mul %i2, %two : i64\n", false},
                      Place{"Backward", "%k = sub %c, %i2 : i64\n", false},
                      Place{"Narrowed", "%k1 = cast %i2 : i32\n%k = cast %k1 : i64\n", false},
                      Place{"Loaded", "%k1 = load @n[%i2] : i32\n%k = cast %k1 : i64\n", false}),
    [](const auto& test) { return std::string(test.param.name); });

// proves R25 for indices that wrap: 2 * i is the same for two values of i, 2^63 apart
TEST(Fusion, AnEvenFactorNeedsIndicesThatCannotWrap) {
  const std::string body = "%two = const 2 : i64\n" +
                           loop("1", "%k1 = mul %i1, %two : i64\n" + put("y[%k1]", "1")) +
                           loop("2", "%k2 = mul %i2, %two : i64\n" + take("y[%k2]", "2"));
  EXPECT_THAT(shape(fused(body)), ElementsAre("loop"));
  EXPECT_THAT(shape(fused(body, {.no_alias = true})), ElementsAre("loop", "loop"));
}

TEST(Fusion, AWriteAfterAReadIsADependenceToo) {
  EXPECT_THAT(shape(fused(loop("1", "%k = add %i1, %one : i64\n" + take("y[%k]", "1")) +
                          loop("2", put("y[%i2]", "2")))),
              ElementsAre("loop", "loop"));
}

TEST(Fusion, DifferentElementsAreNoDependence) {
  const std::string first = loop("1", "%v1 = const 1 : f64\nstore @m[%zero, %i1], %v1\n");
  EXPECT_THAT(
      shape(fused(first + loop("2", "%v2 = load @m[%one, %zero] : f64\nstore @m[%one, %one], %v2\n"))),
      ElementsAre("loop"));
  EXPECT_THAT(
      shape(fused(first + loop("2", "%v2 = load @m[%zero, %zero] : f64\nstore @m[%one, %one], %v2\n"))),
      ElementsAre("loop", "loop"));
}

// What an operation makes of arguments is the same in both loops.
TEST(Fusion, EqualOperationsOnArgumentsAreOneIndex) {
  const auto row = [](const std::string& tag, const std::string& operation) {
    return "%r" + tag + " = " + operation + " %c, %one : i64\n";
  };
  const auto both = [&](const std::string& second) {
    return shape(
        fused("%c = arg @c : i64\n" +
              loop("1", row("1", "and") + "%v1 = const 1 : f64\nstore @m[%r1, %i1], %v1\n") +
              loop("2", row("2", second) + "%v2 = load @m[%r2, %i2] : f64\n%w2 = add %v2, %v2 : f64\n"
                                           "store @m[%r2, %i2], %w2\n")));
  };
  EXPECT_THAT(both("and"), ElementsAre("loop"));
  EXPECT_THAT(both("or"), ElementsAre("loop")) << "another row is no dependence, or the same iteration";
}

// ---- R26 to R28

// proves R26
TEST(Fusion, ParametersThatMayBeTheSameMemoryKeepLoopsApart) {
  const std::string body = loop("1", put("y[%i1]", "1")) + loop("2", take("x[%i2]", "2"));
  EXPECT_THAT(shape(fused(body)), ElementsAre("loop"));
  const passes::Plan p = fused(body, {.index32 = true});
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_THAT(reason(p), HasSubstr("which may be the same memory"));
}

TEST(Fusion, OneArrayNeedsNothingKnownOfLaunches) {
  EXPECT_THAT(shape(fused(loop("1", put("y[%i1]", "1")) + loop("2", put("y[%i2]", "2")), {})),
              ElementsAre("loop"));
}

// proves R27
TEST(Fusion, AContinueEndsTheIterationOfItsOwnLoop) {
  const std::string leave = "%c1 = lt %i1, %one : bool\nif %c1 {\ncontinue\n}\n";
  const std::string body = loop("1", leave + put("y[%i1]", "1")) + loop("2", put("z[%i2]", "2"));
  const ir::Kernel k = kernel(body);
  const passes::Plan p = passes::make_plan(k, 8, {passes::Fusion::same_space, usual});
  ASSERT_THAT(shape(p), ElementsAre("loop"));
  const std::string text = task_text(k, p.tasks[0]);
  EXPECT_LT(text.find("for "), text.find("continue"));
  EXPECT_LT(text.find("continue"), text.find("store @z"));
}

// proves R28
TEST(Fusion, DifferentBoundsKeepLoopsApart) {
  const auto pair = [](const std::string& bounds) {
    return fused(
        "%n2 = extent @x, 0 : i64\n%other = extent @y, 0 : i64\n%c = arg @c : i64\n%c2 = arg @c : i64\n"
        "%l0 = load @n[%zero] : i32\n%l = cast %l0 : i64\n%l1 = load @n[%zero] : i32\n%ll = cast %l1 : "
        "i64\n" +
        loop("1", put("y[%i1]", "1"), bounds.substr(0, bounds.find('|'))) +
        loop("2", put("y[%i2]", "2"), bounds.substr(bounds.find('|') + 1)));
  };
  const auto loops = [](const passes::Plan& p) {
    return std::count_if(p.tasks.begin(), p.tasks.end(),
                         [](const auto& t) { return t.task.kind == ir::TaskKind::parallel; });
  };
  EXPECT_EQ(loops(pair("%zero to %len|%zero to %n2")), 1);
  EXPECT_EQ(loops(pair("%zero to %c|%zero to %c2")), 1);
  EXPECT_EQ(loops(pair("%zero to %l|%zero to %l")), 1);
  EXPECT_EQ(loops(pair("%zero to %len|%one to %len")), 2);
  EXPECT_EQ(loops(pair("%zero to %len|%zero to %other")), 2);
  EXPECT_EQ(loops(pair("%zero to %l|%zero to %ll")), 2);
}

// ---- what else keeps loops apart

TEST(Fusion, StatementsWithEffectsStayBetweenTheirLoops) {
  const passes::Plan p = fused(loop("1", put("y[%i1]", "1")) + "%v = const 1 : f32\nstore @y[%zero], %v\n" +
                               loop("2", put("y[%i2]", "2")));
  EXPECT_THAT(shape(p), ElementsAre("loop", "serial", "loop"));
  EXPECT_THAT(reason(p), HasSubstr("runs between them"));
}

TEST(Fusion, OnlyTheLastOfMergedLoopsCanFail) {
  const std::string check = "%ok2 = lt %i2, %len : bool\nassert %ok2, \"inside\"\n";
  const std::string check1 = "%ok1 = lt %i1, %len : bool\nassert %ok1, \"inside\"\n";
  EXPECT_THAT(shape(fused(loop("1", put("y[%i1]", "1")) + loop("2", check + put("y[%i2]", "2")))),
              ElementsAre("loop"));
  const passes::Plan p = fused(loop("1", check1 + put("y[%i1]", "1")) + loop("2", put("y[%i2]", "2")));
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_THAT(reason(p), HasSubstr("can fail"));
  EXPECT_THAT(
      shape(fused(loop("1", put("y[%i1]", "1")) + loop("2", put("y[%i2]", "2")), usual, "check_bounds")),
      ElementsAre("loop", "loop"));
}

TEST(Fusion, AtomicsKeepTheirOrder) {
  const auto add = [](const std::string& tag, const std::string& kind, bool used = false) {
    return "%a" + tag + " = const 1 : i32\n%o" + tag + " = atomic." + kind + " @n[%zero], %a" + tag +
           " : i32\n" + (used ? "store @n[%i" + tag + "], %o" + tag + "\n" : "");
  };
  EXPECT_THAT(shape(fused(loop("1", add("1", "add")) + loop("2", add("2", "add")))), ElementsAre("loop"));
  EXPECT_THAT(shape(fused(loop("1", add("1", "add")) + loop("2", add("2", "max")))),
              ElementsAre("loop", "loop"));
  EXPECT_THAT(shape(fused(loop("1", add("1", "exchange")) + loop("2", add("2", "exchange")))),
              ElementsAre("loop", "loop"));
  EXPECT_THAT(shape(fused(loop("1", add("1", "add", true)) + loop("2", add("2", "add")))),
              ElementsAre("loop", "loop"));
}

TEST(Fusion, AReductionTakesInTheLoopsBeforeItAndEndsThem) {
  const std::string sum =
      "%s = reduce.sum (%j) in (%zero to %len) : f32 {\n%v = load @y[%j] : f32\nyield %v\n}\nstore "
      "@z[%zero], %s\n";
  EXPECT_THAT(shape(fused(copy("x", "y", "1") + sum)), ElementsAre("reduce", "combine"));
  EXPECT_THAT(shape(fused(copy("x", "y", "1") + sum + copy("x", "y", "2"))),
              ElementsAre("reduce", "combine", "loop"));
}

TEST(Fusion, BlocksOfARegionAreFusedEachByItself) {
  const passes::Plan p = fused("region {\n" + copy("x", "y", "1") + copy("y", "y", "2") + "} and {\n" +
                               copy("x", "z", "3") + "}\n");
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.1"));
}

// proves R30 as far as the plan goes: loops that are too large for the registers of one kernel stay apart
TEST(Fusion, LoopsThatAreTooLargeTogetherStayApart) {
  std::string statements;
  for (int i = 0; i < 1000; ++i) statements += "%TAG" + std::to_string(i) + " = const 1 : f32\n";
  const auto large = [&](const std::string& tag) {
    std::string named = statements;
    for (std::size_t at = 0; (at = named.find("TAG", at)) != std::string::npos;)
      named.replace(at, 3, "g" + tag + "_");
    return loop(tag, named + put("y[%i" + tag + "]", tag));
  };
  const passes::Plan p = fused(large("1") + large("2"));
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_THAT(reason(p), HasSubstr("too many for one loop"));
}

// ---- one shared index

std::string rows(const std::string& tag, const std::string& statements, const std::string& first,
                 const std::string& second) {
  return "parallel (%i" + tag + ", %j" + tag + ") in (" + first + ", " + second + ") {\n" + statements +
         "\n}\n";
}

TEST(SharedIndex, LoopsOverDifferentSpacesThatShareOneIndexAreOneTask) {
  const std::string body =
      "%six = const 6 : i64\n" +
      rows("1", "%v1 = const 1 : f64\nstore @m[%i1, %j1], %v1\n", "%zero to %six", "%zero to %len") +
      loop("2", "%v2 = load @m[%one, %i2] : f64\n%f2 = cast %v2 : f32\nstore @y[%i2], %f2\n") +
      rows("3", "%v3 = load @y[%i3] : f32\n%d3 = cast %v3 : f64\nstore @m[%j3, %i3], %d3\n", "%zero to %len",
           "%zero to %six");
  EXPECT_THAT(shape(fused(body)), ElementsAre("loop", "loop", "loop"));
  const passes::Plan p = shared(body);
  ASSERT_THAT(shape(p), ElementsAre("loop"));
  EXPECT_EQ(p.tasks[0].rank, 1);
  EXPECT_EQ(p.tasks[0].merged.size(), 3u);
  EXPECT_EQ(p.tasks[0].merged[0].bounds.rank, 2);
}

/// Sums over a second index, which the loop before it stored.
std::string stores_and_sums(const std::string& count, const std::string& last = "") {
  return "%n = const " + count + " : i64\n" +
         rows("1", "%v1 = const 1 : f64\nstore @m[%j1, %i1], %v1\n", "%zero to %len", "%zero to %n") +
         loop("2",
              "local $s : f64\nfor %k = %zero to %n step %one {\n"
              "%v2 = load @m[%k, %i2] : f64\n%s0 = get $s : f64\n%s1 = add %s0, %v2 : f64\nset $s, %s1\n" +
                  last + "}\n%s2 = get $s : f64\n%f2 = cast %s2 : f32\nstore @y[%i2], %f2\n");
}

TEST(SharedIndex, LoopsOfAFewIterationsAreWrittenOut) {
  const std::string text = merged_text(stores_and_sums("6"), passes::Fusion::shared_index);
  EXPECT_EQ(occurrences(text, "store @m"), 6u);
  EXPECT_THAT(text, Not(HasSubstr("load @m")));  // each element is in a register
  EXPECT_THAT(text, Not(HasSubstr("for ")));
}

TEST(SharedIndex, LongLoopsAndThoseThatEndEarlyStayLoops) {
  EXPECT_EQ(occurrences(merged_text(stores_and_sums("17"), passes::Fusion::shared_index), "for "), 2u);
  const std::string ends = "%e = gt %s1, %v2 : bool\nif %e {\nbreak\n}\n";
  const std::string text = merged_text(stores_and_sums("6", ends), passes::Fusion::shared_index);
  EXPECT_EQ(occurrences(text, "for "), 1u);
  EXPECT_THAT(text, HasSubstr("load @m"));
}

TEST(SharedIndex, ThePlanSaysWhetherIterationsContainLoops) {
  EXPECT_FALSE(shared(stores_and_sums("6")).tasks[0].keeps_loops);
  EXPECT_TRUE(shared(stores_and_sums("17")).tasks[0].keeps_loops);
}

TEST(SharedIndex, BoundsOfInnerLoopsAreKnownOnceTheOuterLoopIsWrittenOut) {
  const std::string triangle =
      "%n = const 4 : i64\n" +
      rows("1", "%v1 = const 1 : f64\nstore @m[%j1, %i1], %v1\n", "%zero to %len", "%zero to %n") +
      loop("2",
           "for %k = %zero to %n step %one {\nfor %l = %zero to %k step %one {\n"
           "%v2 = load @m[%l, %i2] : f64\nstore @m[%k, %i2], %v2\n}\n}\n");
  const std::string text = merged_text(triangle, passes::Fusion::shared_index);
  EXPECT_THAT(text, Not(HasSubstr("for ")));
  EXPECT_THAT(text, Not(HasSubstr("load @m")));
}

TEST(SharedIndex, ADependenceBetweenItsValuesKeepsLoopsApart) {
  const std::string first =
      "%six = const 6 : i64\n" +
      rows("1", "%v1 = const 1 : f64\nstore @m[%i1, %j1], %v1\n", "%zero to %len", "%zero to %six");
  EXPECT_THAT(
      shape(shared(first +
                   loop("2", "%v2 = load @m[%i2, %one] : f64\n%f2 = cast %v2 : f32\nstore @y[%i2], %f2\n"))),
      ElementsAre("loop"));
  EXPECT_THAT(
      shape(shared(first +
                   loop("2", "%v2 = load @m[%one, %i2] : f64\n%f2 = cast %v2 : f32\nstore @y[%i2], %f2\n"))),
      ElementsAre("loop", "loop"));
}

TEST(SharedIndex, LoopsThatPrintKeepTheirOwnIndices) {
  const std::string quiet =
      "%six = const 6 : i64\n" +
      rows("1", "%v1 = const 1 : f64\nstore @m[%i1, %j1], %v1\n", "%zero to %len", "%zero to %six");
  const auto last = [](const std::string& print) {
    return loop("2", print + "%v2 = load @m[%i2, %one] : f64\n%f2 = cast %v2 : f32\nstore @y[%i2], %f2\n");
  };
  EXPECT_THAT(shape(shared(quiet + last(""))), ElementsAre("loop"));
  const passes::Plan p = shared(quiet + last("print \"{}\", %i2\n"));
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_THAT(reason(p), HasSubstr("prints"));
}

TEST(Fusion, LoopsOverOneSpaceMayPrint) {
  const std::string body = loop("1", "print \"first {}\", %i1\n" + put("x[%i1]", "1")) +
                           loop("2", "print \"second {}\", %i2\n" + put("y[%i2]", "2"));
  EXPECT_THAT(shape(fused(body)), ElementsAre("loop"));
}

TEST(SharedIndex, AFewValuesAreNotWorthIt) {
  const std::string body =
      "%six = const 6 : i64\n" + loop("1", put("y[%i1]", "1"), "%zero to %six") +
      rows("2", "%v2 = load @y[%i2] : f32\n%d2 = cast %v2 : f64\nstore @m[%i2, %j2], %d2\n", "%zero to %six",
           "%zero to %len");
  EXPECT_THAT(shape(shared(body)), ElementsAre("loop", "loop"));
}

}  // namespace
}  // namespace weir::test
