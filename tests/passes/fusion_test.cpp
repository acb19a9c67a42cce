// SPDX-License-Identifier: Apache-2.0
// Which neighbouring loops are merged, and which are kept apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fusion_plans.hpp"
#include "occurrences.hpp"

namespace weir::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(Fusion, StoresToDifferentElementsAreDroppedEachByItself) {
  const std::string text = merged_text(loop("1", put("y[%i1]", "1") + put("x[%i1]", "2")) +
                                       loop("2", put("y[%i2]", "3") + put("x[%i2]", "4")));
  EXPECT_EQ(occurrences(text, "store @y"), 1u);
  EXPECT_EQ(occurrences(text, "store @x"), 1u);
}

// Statements that cannot read the element: a load of another array or of a known value, and local variables.
TEST(Fusion, AStoreIsDroppedAcrossStatementsThatDoNotReadIt) {
  const auto stores = [](const std::string& between) {
    return occurrences(merged_text(loop("1", put("y[%i1]", "1")) + loop("2", between + put("y[%i2]", "2"))),
                       "store @y");
  };
  EXPECT_EQ(stores("%v = load @x[%i2] : f32\nstore @z[%i2], %v\n"), 1u);
  EXPECT_EQ(stores("%v = load @y[%i2] : f32\nstore @z[%i2], %v\n"), 1u);
  EXPECT_EQ(stores("%v = const 3 : f32\nlocal $l : f32\nset $l, %v\n%g = get $l : f32\nstore @z[%i2], %g\n"),
            1u);
}

// %k is 0 or 1, so the access is to either element of the row.
TEST(Fusion, AnElementWithAnotherIndexMayBeTheSame) {
  const std::string start = loop("1", put("x[%i1]", "1"));
  const std::string k = "%k = and %i2, %one : i64\n%next = add %k, %one : i64\n%d = const 2 : f64\n";
  const auto count = [&](const std::string& statements, const std::string& word) {
    return occurrences(merged_text(start + loop("2", k + statements)), word);
  };
  const std::string stores = "store @m[%i2, %zero], %d\n";
  const auto read = [](const std::string& tag, const std::string& place) {
    return "%r" + tag + " = load @m[" + place + "] : f64\n%f" + tag + " = cast %r" + tag + " : f32\nstore @" +
           (tag == "1" ? "y" : "z") + "[%i2], %f" + tag + "\n";
  };
  EXPECT_EQ(count(stores + read("1", "%i2, %k") + stores, "store @m"), 2u);
  EXPECT_EQ(count(stores + read("1", "%i2, %one") + stores, "store @m"), 1u);
  EXPECT_EQ(
      count(read("1", "%i2, %zero") + "store @m[%i2, %next], %d\n" + read("2", "%i2, %zero"), "load @m"), 2u);
  EXPECT_EQ(count(read("1", "%i2, %zero") + "store @m[%i2, %one], %d\n" + read("2", "%i2, %zero"), "load @m"),
            1u);
  EXPECT_EQ(count(read("1", "%i2, %zero") + read("2", "%i2, %one"), "load @m"), 2u);
}

// An array that may be the same memory changes the element.
TEST(Fusion, AStoreToAnAliasEndsWhatIsKnown) {
  const std::string body =
      loop("1", "print \"{}\", %i1\n") +
      loop("2", "%a = load @y[%i2] : f32\n%b = add %a, %a : f32\nstore @x[%i2], %b\n" + take("y[%i2]", "2"));
  EXPECT_EQ(occurrences(merged_text(body), "load @y"), 1u);
  EXPECT_EQ(occurrences(merged_text(body, passes::Fusion::same_space, {.index32 = true}), "load @y"), 2u);
}

TEST(Fusion, AStoreUnderAConditionEndsWhatIsKnown) {
  const std::string text = merged_text(
      "%c = arg @c : i64\n" + loop("1", put("y[%i1]", "1")) +
      loop("2", "%t = lt %i2, %c : bool\nif %t {\n" + put("y[%i2]", "3") + "}\n" + take("y[%i2]", "2")));
  EXPECT_EQ(occurrences(text, "load @y"), 1u);
}

// The statements in order: values that were stored stand for the loads.
TEST(Fusion, LoadsBecomeTheValuesOfTheirOwnElements) {
  EXPECT_EQ(merged_text(loop("1",
                             "%a = load @x[%i1] : f32\n%b = add %a, %a : f32\n%d = cast %b : f64\n"
                             "%e = cast %a : f64\nstore @m[%i1, %zero], %d\nstore @m[%i1, %one], %e\n") +
                        loop("2",
                             "%p = load @m[%i2, %zero] : f64\n%q = load @m[%i2, %one] : f64\n"
                             "%r = sub %p, %q : f64\nstore @m[%i2, %zero], %r\n")),
            R"({
  %0 = const 0 : i64
  %1 = const 1 : i64
  %2 = extent @x, 0 : i64
  parallel (%3) in (%0 to %2) {
    %4 = load @x[%3] : f32
    %5 = add %4, %4 : f32
    %6 = cast %5 : f64
    %7 = cast %4 : f64
    store @m[%3, %1], %7
    %8 = sub %6, %7 : f64
    store @m[%3, %0], %8
  }
}
)");
}

TEST(Fusion, OnlyMergedLoopsAreRewritten) {
  const std::string twice =
      "%v3 = load @y[%i3] : f32\n%w3 = load @y[%i3] : f32\n%s3 = add %v3, %w3 : f32\n"
      "store @x[%i3], %s3\n";
  const ir::Kernel whole = kernel(loop("1", put("y[%i1]", "1")) + loop("2", put("z[%i2]", "2")) +
                                  loop("3", twice, "%one to %len"));
  const passes::Plan p = verified_plan(whole, {passes::Fusion::same_space, usual});
  ASSERT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_EQ(occurrences(task_text(whole, p.tasks[1]), "load @y"), 2u);
}

TEST(Fusion, LoopsOfAllBlocksOfRegionsAndRepeatsPassValuesInRegisters) {
  const std::string region =
      "region {\n" + fill("x", "0") + "} and {\n" + fill("y", "1") + copy("y", "z", "2") + "}\n";
  const std::string repeat = "repeat (%k) to %len {\n" + fill("y", "3") + copy("y", "z", "4") + "}\n";
  for (const auto& [body, task] : {std::pair(region, 1u), std::pair(repeat, 0u)}) {
    const ir::Kernel whole = kernel(body);
    const passes::Plan p = verified_plan(whole, {passes::Fusion::same_space, usual});
    EXPECT_EQ(p.tasks.at(task).merged.size(), 2u);
    EXPECT_EQ(occurrences(task_text(whole, p.tasks.at(task)), "load @y"), 0u) << body;
  }
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

TEST(Fusion, AContinueOfTheFirstLoopLeavesASequentialLoop) {
  const std::string leave = "%c1 = lt %i1, %one : bool\nif %c1 {\ncontinue\n}\n";
  EXPECT_EQ(merged_text(loop("1", leave + "%a = const 1 : f32\nstore @y[%zero], %a\n") +
                        loop("2", "%c = load @n[%one] : i32\nstore @n[%i2], %c\n")),
            R"({
  %0 = const 0 : i64
  %1 = const 1 : i64
  %2 = extent @x, 0 : i64
  parallel (%3) in (%0 to %2) {
    %4 = const 0 : i64
    %5 = const 1 : i64
    for %6 = %4 to %5 step %5 {
      %7 = lt %3, %1 : bool
      if %7 {
        continue
      }
      %8 = const 1 : f32
      store @y[%0], %8
    }
    %9 = load @n[%1] : i32
    store @n[%3], %9
  }
}
)");
}

TEST(Fusion, OtherContinuesNeedNoLoop) {
  const auto leave = [](const std::string& test) {
    return "%q = lt " + test + ", %one : bool\nif %q {\ncontinue\n}\n";
  };
  const auto loops = [&](const std::string& first, const std::string& second) {
    return occurrences(
        merged_text("%c = arg @c : i64\n%a = arg @a : f32\n" + loop("1", first) + loop("2", second)),
        "for %");
  };
  const std::string last = leave("%i2") + put("z[%i2]", "2");
  EXPECT_EQ(loops(put("y[%i1]", "1"), last), 0u) << "of the last loop";
  const std::string print = "print \"{}\", %i1\n";
  EXPECT_EQ(loops(print + "for %k = %zero to %c step %one {\n" + leave("%k") + put("y[%i1]", "1") + "}\n",
                  put("z[%i2]", "2")),
            1u)
      << "of a loop in the first loop";
  const std::string condition = "while {\n%v = load @y[%i1] : f32\n%t = lt %v, %a : bool\nyield %t\n} do {\n";
  EXPECT_EQ(loops(print + condition + leave("%i1") + put("y[%i1]", "1") + "}\n", put("z[%i2]", "2")), 0u);
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

/// A loop with `count` statements in its body: constants, and a store to @x[%iTAG].
std::string loop_of_statements(const std::string& tag, int count) {
  std::string statements;
  for (int i = 2; i < count; ++i) statements += "%w" + tag + "_" + std::to_string(i) + " = const 1 : f32\n";
  return loop(tag, statements + put("x[%i" + tag + "]", tag));
}

TEST(Fusion, MergedLoopsHaveAtMost1500StatementsAnd64Loops) {
  EXPECT_EQ(reason(fused(loop_of_statements("1", 749) + loop_of_statements("2", 749))), "");
  EXPECT_EQ(reason(fused(loop_of_statements("1", 749) + loop_of_statements("2", 750))),
            "together they have 1501 statements, too many for one loop");
  std::string loops;
  for (int i = 0; i < 65; ++i) loops += fill("x", std::to_string(i));
  const passes::Plan p = fused(loops);
  ASSERT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_EQ(p.tasks[0].merged.size(), 64u);
  EXPECT_EQ(p.fusion.back().reason, "together they have 195 statements, too many for one loop");
}

// A loop that is merged by a shared index is nested once more.
TEST(Fusion, LoopsOfDeeplyNestedStatementsStayApart) {
  const auto nested = [](int depth) {
    std::string statements = put("y[%i2]", "2");
    for (int i = 0; i < depth; ++i) statements = "if %t {\n" + statements + "}\n";
    return reason(fused("%t = const true : bool\n" + loop("1", put("x[%i1]", "1")) + loop("2", statements)));
  };
  EXPECT_EQ(nested(99), "");
  EXPECT_EQ(nested(100), "together they have 106 statements, too many for one loop");
}

TEST(Fusion, LoopsOverOneSpaceMayPrint) {
  const std::string body = loop("1", "print \"first {}\", %i1\n" + put("x[%i1]", "1")) +
                           loop("2", "print \"second {}\", %i2\n" + put("y[%i2]", "2"));
  EXPECT_THAT(shape(fused(body)), ElementsAre("loop"));
  EXPECT_THAT(merged_text(body), Not(HasSubstr("for "))) << "only a continue needs a loop of its own";
}

// The dependence is on the second loop of the group, and on the second index.
TEST(Fusion, AllLoopsOfAGroupAndAllTheirIndicesCount) {
  const std::string two = loop("1", put("x[%i1]", "1")) + loop("2", put("y[%i2]", "2"));
  const auto last = [&](const std::string& array) {
    return loop("3", "%k = sub %i3, %one : i64\n%v3 = load @" + array + "[%k] : f32\nstore @z[%i3], %v3\n");
  };
  for (const auto how : {passes::Fusion::same_space, passes::Fusion::shared_index})
    for (const std::string array : {"x", "y"}) {
      const passes::Plan p = fused(two + last(array), usual, "", how);
      EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
      EXPECT_THAT(p.fusion.back().reason, HasSubstr("@" + array + " is stored at"));
    }
  const std::string three = two + loop("3", put("z[%i3]", "3"));
  EXPECT_THAT(
      shape(fused(three +
                  loop("4", "%k = sub %i4, %one : i64\n%v4 = load @z[%k] : f32\nstore @x[%i4], %v4\n"))),
      ElementsAre("loop", "loop"));
  const auto over = [](const std::string& tag, const std::string& column, const std::string& bounds) {
    return rows(tag,
                "%d" + tag + " = const 1 : f64\nstore @m[%i" + tag + ", " + column + "], %d" + tag + "\n",
                "%zero to %len", bounds);
  };
  const std::string values = "%six = const 6 : i64\n";
  EXPECT_EQ(reason(fused(values + over("1", "%j1", "%zero to %six") + over("2", "%j2", "%zero to %six"))),
            "");
  EXPECT_EQ(reason(fused(values + over("1", "%j1", "%zero to %six") + over("2", "%j2", "%one to %six"))),
            "their bounds come from different values");
  EXPECT_THAT(reason(fused(values + over("1", "%j1", "%zero to %six") + over("2", "%zero", "%zero to %six"))),
              HasSubstr("@m is stored at"));
}

TEST(Fusion, ThePlanSaysWhetherIterationsContainLoops) {
  const auto keeps = [](const std::string& statements) {
    return fused("%c = arg @c : i64\n%t = const true : bool\n" + loop("1", put("x[%i1]", "1")) +
                 loop("2", statements))
        .tasks.at(0)
        .keeps_loops;
  };
  const std::string leave = "if %t {\nbreak\n}\n" + put("y[%i2]", "2") + "}\n";
  const auto from = [&](const std::string& low, const std::string& high) {
    return "%l = const " + low + " : i64\n%h = const " + high + " : i64\nfor %k = %l to %h step %one {\n" +
           leave;
  };
  EXPECT_FALSE(keeps(put("y[%i2]", "2")));
  EXPECT_FALSE(keeps(from("1", "2"))) << "one iteration";
  EXPECT_TRUE(keeps(from("0", "2")));
  EXPECT_TRUE(keeps(from("2", "2")));
  EXPECT_TRUE(keeps("%l = const 1 : i64\nfor %k = %l to %c step %one {\n" + leave));
  EXPECT_TRUE(keeps("%h = const 1 : i64\nfor %k = %c to %h step %one {\n" + leave));
  EXPECT_TRUE(keeps("while {\nyield %t\n} do {\n" + leave));
  EXPECT_TRUE(keeps("if %t {\nfor %k = %zero to %c step %one {\n" + leave + "}\n"));
  EXPECT_FALSE(keeps("if %t {\n" + put("y[%i2]", "2") + "}\n"));
}

TEST(Fusion, TitlesCountLoopsWithoutPlaces) {
  ir::Kernel k = kernel(loop("1", put("x[%i1]", "1")) + loop("2", put("y[%i2]", "2")));
  EXPECT_EQ(verified_plan(k, {passes::Fusion::same_space, usual}).tasks[0].title,
            "k_0_loop (k.weir:14, k.weir:19)");
  for (ir::Statement& s : k.body.statements) s.location = {};
  EXPECT_EQ(verified_plan(k, {passes::Fusion::same_space, usual}).tasks[0].title, "k_0_loop (2 loops)");
}

TEST(Fusion, StatementsAfterAReductionFollowIt) {
  const std::string least =
      "%s = reduce.min (%j) in (%zero to %len) : f32 {\n%v = load @y[%j] : f32\nyield %v\n}\n";
  const ir::Kernel k = kernel(copy("x", "y", "1") + least + "%d = add %s, %s : f32\n" +
                              "parallel (%i2) in (%zero to %len) {\nstore @z[%i2], %d\n}\n");
  const passes::Plan p = verified_plan(k, {passes::Fusion::same_space, usual});
  ASSERT_THAT(shape(p), ElementsAre("reduce", "combine", "loop"));
  EXPECT_EQ(p.tasks[0].task.reduce_type, ScalarType::f32);
  EXPECT_EQ(p.tasks[0].task.reduce_kind, ir::ReduceKind::min);
  EXPECT_EQ(p.tasks[1].task.reduce_kind, ir::ReduceKind::min);
  EXPECT_THAT(task_text(k, p.tasks[0]), Not(HasSubstr("load @y"))) << "the value is in a register";
  EXPECT_EQ(p.fusion.back().reason, "a reduction is the last loop of those that are merged");
}

TEST(Fusion, GroupLoopsStayApart) {
  const std::string group =
      "%four = const 4 : i64\nparallel (%g, %t) in (%zero to %len, %zero to %four) group 4 {\n"
      "%f = const 1 : f32\nstore @x[%g], %f\n}\n";
  const passes::Plan p = fused(loop("1", put("y[%i1]", "1")) + group + loop("2", put("z[%i2]", "2")));
  ASSERT_EQ(p.fusion.size(), 2u);
  for (const passes::FusionDecision& decision : p.fusion)
    EXPECT_EQ(decision.reason, "a group loop is not merged with others");
}

}  // namespace
}  // namespace weir::test
