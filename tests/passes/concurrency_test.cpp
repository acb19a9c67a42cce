// SPDX-License-Identifier: Apache-2.0
// Regions that the kernel does not write: which loops are independent, and which stay in order.
#include <gmock/gmock.h>

#include "plans.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

passes::Plan concurrent(const std::string& body, const std::string& options = "", bool no_alias = true) {
  return passes::make_plan(kernel(body, options), 8,
                           {.known = {.no_alias = no_alias, .index32 = true}, .concurrency = true});
}

/// A loop over @x that changes `to` by elements of `from` in reverse order.
std::string reverse(const std::string& from, const std::string& to, const std::string& tag) {
  return "parallel (%i" + tag + ") in (%zero to %len) {\n%b" + tag + " = sub %len, %i" + tag + " : i64\n%r" +
         tag + " = sub %b" + tag + ", %one : i64\n%f" + tag + " = load @" + from + "[%r" + tag +
         "] : f32\nstore @" + to + "[%i" + tag + "], %f" + tag + "\n}\n";
}

const std::string sum_of_x =
    "%s = reduce.sum (%k) in (%zero to %len) : f32 {\n%v = load @x[%k] : f32\nyield %v\n}\n";

/// A loop that adds @x and @y.
const std::string both =
    "parallel (%i9) in (%zero to %len) {\n%a9 = load @x[%i9] : f32\n%b9 = load @y[%i9] : f32\n"
    "%c9 = add %a9, %b9 : f32\nstore @z[%i9], %c9\n}\n";
/// The middle of @x, and a value.
const std::string half = "%two = const 2 : i64\n%half = div %len, %two : i64\n%f = const 1 : f32\n";

TEST(Concurrency, IndependentLoopsAreBlocksOfARegion) {
  EXPECT_THAT(shape(concurrent(fill("x", "0") + fill("y", "1") + fill("z", "2"))),
              ElementsAre("loop@0.0", "loop@0.1", "loop@0.2"));
  const passes::Plan p = concurrent(fill("x", "0") + fill("y", "1"));
  EXPECT_TRUE(p.has_independent);
  for (const passes::PlannedTask& planned : p.tasks) {
    EXPECT_TRUE(planned.found_independent);
    EXPECT_FALSE(planned.conflicts_are_meant);
  }
  EXPECT_THAT(shape(plan(fill("x", "0") + fill("y", "1"))), ElementsAre("loop", "loop"))
      << "only where asked";
}

TEST(Concurrency, TasksOfABlockComeTogether) {
  const std::string body = fill("x", "0") + fill("y", "1") + reverse("x", "x", "2") + reverse("y", "y", "3");
  const passes::Plan p = concurrent(body);
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.0", "loop@0.1", "loop@0.1"));
  EXPECT_EQ(p.region_blocks, std::vector<std::uint32_t>{2});
  EXPECT_LT(p.tasks[1].task.location.line, p.tasks[3].task.location.line);
  EXPECT_GT(p.tasks[1].task.location.line, p.tasks[2].task.location.line) << "in another order than written";
}

TEST(Concurrency, ALoopThatNeedsTwoBlocksComesAfterTheRegion) {
  EXPECT_THAT(shape(concurrent(fill("x", "0") + fill("y", "1") + both + fill("x", "3"))),
              ElementsAre("loop@0.0", "loop@0.1", "loop", "loop"));
}

TEST(Concurrency, LoopsAfterACommonOneAreARegion) {
  EXPECT_THAT(shape(concurrent(fill("x", "0") + copy("x", "y", "1") + copy("x", "z", "2"))),
              ElementsAre("loop", "loop@0.0", "loop@0.1"));
}

TEST(Concurrency, RegionsComeOneAfterTheOther) {
  const passes::Plan p =
      concurrent(fill("x", "0") + fill("y", "1") + both + reverse("z", "x", "2") + reverse("z", "y", "3"));
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.1", "loop", "loop@1.0", "loop@1.1"));
}

TEST(Concurrency, LoopsAndReductionsOverPartsOfOneArrayAreIndependent) {
  const auto sum = [](const std::string& range) {
    return "%s = reduce.sum (%k) in (" + range + ") : f32 {\n%v = load @x[%k] : f32\nyield %v\n}\n" +
           "store @y[%zero], %s\n";
  };
  const std::string first = half + "parallel (%i) in (%zero to %half) {\nstore @x[%i], %f\n}\n";
  EXPECT_EQ(concurrent(first + sum("%half to %len")).region_blocks.size(), 1u);
  EXPECT_EQ(concurrent(first + sum("%zero to %half")).region_blocks.size(), 0u);
}

TEST(Concurrency, DependentLoopsStayInOrderWithAReason) {
  const passes::Plan p = concurrent(fill("x", "0") + reverse("x", "y", "1") + fill("x", "2"));
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop", "loop"));
  ASSERT_EQ(p.order.size(), 2u);
  EXPECT_THAT(p.order[0].reason, AllOf(HasSubstr("@x is stored at"), HasSubstr("and loaded at")));
  EXPECT_THAT(p.order[1].reason, AllOf(HasSubstr("@x is loaded at"), HasSubstr("and stored at")));
}

TEST(Concurrency, ArgumentsThatMayBeTheSameMemoryKeepTheOrder) {
  const passes::Plan p = concurrent(fill("x", "0") + fill("y", "1"), "", false);
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_THAT(p.order,
              ElementsAre(Field(&passes::FusionDecision::reason, HasSubstr("may be the same memory"))));
}

TEST(Concurrency, LoopsOverPartsOfOneArrayAreIndependent) {
  const passes::Plan p = concurrent(half + "parallel (%i) in (%zero to %half) {\nstore @x[%i], %f\n}\n" +
                                        "parallel (%j) in (%half to %len) {\nstore @x[%j], %f\n}\n",
                                    "", false);
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.1"));
  EXPECT_THAT(p.tasks[0].divided, ElementsAre(0u)) << "so that no layer takes it for a race";
}

TEST(Concurrency, ValuesAndVariablesAreDependences) {
  const std::string with_sum = "parallel (%i) in (%zero to %len) {\nstore @y[%i], %s\n}\n";
  const passes::Plan p = concurrent(sum_of_x + with_sum + fill("z", "1"));
  EXPECT_THAT(shape(p), ElementsAre("reduce@0.0", "combine@0.0", "loop@0.0", "loop@0.1"));
  EXPECT_THAT(p.order, Contains(Field(&passes::FusionDecision::reason, HasSubstr("a value that the first"))));

  const std::string variable = "local $v : f32\nset $v, %s\n";
  const std::string reads = "parallel (%i) in (%zero to %len) {\n%g = get $v : f32\nstore @y[%i], %g\n}\n";
  EXPECT_THAT(shape(concurrent(sum_of_x + variable + reads)), ElementsAre("reduce", "combine", "loop"));
}

TEST(Concurrency, StatementsAloneAreNoBlock) {
  const std::string one = "%f = const 1 : f32\nstore @n[%zero], %w\n";
  const std::string word = "%w = const 1 : i32\n";
  const passes::Plan p = concurrent(word + fill("x", "0") + one + fill("y", "1"));
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "serial@0.0", "loop@0.1"));
  EXPECT_THAT(shape(concurrent(word + fill("x", "0") + one)), ElementsAre("loop", "serial"));
}

TEST(Concurrency, AtomicsOfOneArrayKeepTheOrder) {
  const auto count = [](const std::string& tag) {
    return "parallel (%i" + tag + ") in (%zero to %len) {\n%w" + tag + " = const 1 : i32\n%o" + tag +
           " = atomic.add @n[%zero], %w" + tag + " : i32\n}\n";
  };
  const passes::Plan p = concurrent(count("0") + count("1"));
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_THAT(p.order, ElementsAre(Field(&passes::FusionDecision::reason, "both use @n atomically")));
  EXPECT_THAT(shape(concurrent(count("0") + fill("x", "1"))), ElementsAre("loop@0.0", "loop@0.1"));
}

TEST(Concurrency, FailuresAndLinesKeepTheirOrder) {
  const auto fails = [](const std::string& array, const std::string& tag) {
    return "parallel (%i" + tag + ") in (%zero to %len) {\n%c" + tag + " = lt %i" + tag +
           ", %one : bool\nassert %c" + tag + ", \"no\"\n%f" + tag + " = const 1 : f32\nstore @" + array +
           "[%i" + tag + "], %f" + tag + "\n}\n";
  };
  EXPECT_THAT(shape(concurrent(fails("x", "0") + fails("y", "1"))), ElementsAre("loop", "loop"));
  EXPECT_THAT(shape(concurrent(fails("x", "0") + fill("y", "1"))), ElementsAre("loop@0.0", "loop@0.1"))
      << "later loops run after a failure too";
  EXPECT_THAT(shape(concurrent(fill("x", "0") + fails("y", "1"))), ElementsAre("loop@0.0", "loop@0.1"));
  EXPECT_THAT(shape(concurrent(fill("x", "0") + fill("y", "1"), "check_bounds")),
              ElementsAre("loop", "loop"));
  const auto prints = [](const std::string& tag) {
    return "parallel (%i" + tag + ") in (%zero to %len) {\nprint \"{}\", %i" + tag + "\n}\n";
  };
  EXPECT_THAT(shape(concurrent(prints("0") + prints("1"))), ElementsAre("loop", "loop"));
}

TEST(Concurrency, WrittenRegionsAndRepeatsKeepTheirPlace) {
  const std::string region = "region {\n" + fill("x", "2") + "} and {\n" + fill("y", "3") + "}\n";
  const passes::Plan around =
      concurrent(fill("x", "0") + fill("y", "1") + region + fill("z", "4") + fill("x", "5"));
  EXPECT_THAT(shape(around),
              ElementsAre("loop@0.0", "loop@0.1", "loop@1.0", "loop@1.1", "loop@2.0", "loop@2.1"));
  std::vector<bool> found;
  for (const auto& planned : around.tasks) found.push_back(planned.found_independent);
  EXPECT_THAT(found, ElementsAre(true, true, false, false, true, true));
  const passes::Plan p = concurrent("repeat (%q) to %len {\n" + fill("x", "0") + fill("y", "1") + "}\n" +
                                    fill("y", "2") + fill("z", "3"));
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop", "loop@0.0", "loop@0.1"));
  EXPECT_EQ(p.repeats.at(0).end, 2u);
}

TEST(Concurrency, LoopsOfAStreamBlockAreGroups) {
  const auto beside_z = [](const std::string& block) {
    return "region {\n" + block + "} and {\n" + fill("z", "9") + "}\n";
  };
  const std::string two = fill("x", "0") + fill("y", "1");
  const passes::Plan p = concurrent(beside_z(two + reverse("x", "x", "2")));
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.0", "loop@0.0/1", "loop@0.1"));
  EXPECT_TRUE(p.has_independent);
  EXPECT_EQ(p.region_blocks, std::vector<std::uint32_t>{2}) << "blocks are those of the kernel";
  EXPECT_THAT(shape(concurrent(beside_z(two), "", /*no_alias=*/false)),
              ElementsAre("loop@0.0", "loop@0.0", "loop@0.1"));
  EXPECT_THAT(shape(concurrent(beside_z(fill("x", "0") + reverse("x", "y", "1")))),
              ElementsAre("loop@0.0", "loop@0.0", "loop@0.1"));
}

TEST(Concurrency, StatementsOfAStreamBlockStayWithTheirGroup) {
  const std::string sums =
      "%q = reduce.sum (%i0) in (%zero to %len) : f32 {\n%f0 = load @z[%i0] : f32\n"
      "yield %f0\n}\n" +
      fill("y", "1") + "store @x[%zero], %q\n";
  const passes::Plan p = concurrent("region {\n" + sums +
                                    "} and {\nparallel (%j, %k) in (%zero to %one, %zero to %one) {\n"
                                    "%h = const 1 : f64\nstore @m[%j, %k], %h\n}\n}\n");
  ASSERT_THAT(shape(p), ElementsAre("reduce@0.0", "combine@0.0", "loop@0.0/1", "loop@0.1"));
  EXPECT_THAT(task_text(kernel(""), p.tasks[1]), HasSubstr("store @x"))
      << "in the last task of the reduction";
  const passes::Plan alone = concurrent("region {\n%h = const 1 : f32\nstore @x[%zero], %h\n" +
                                        fill("y", "1") + "} and {\n" + fill("z", "2") + "}\n");
  EXPECT_THAT(shape(alone), ElementsAre("serial@0.0", "loop@0.0", "loop@0.1")) << "not worth an edge";
}

TEST(Concurrency, LaterLoopsOfAStreamBlockBelongToTheRegion) {
  EXPECT_THAT(shape(concurrent(fill("x", "0") + fill("y", "1") + reverse("x", "x", "2"))),
              ElementsAre("loop@0.0", "loop@0.0", "loop@0.1"));
}

TEST(Concurrency, TheLargestRegionLeavesOthersBeforeIt) {
  const std::string third =
      "parallel (%i8) in (%zero to %len) {\n%v8 = load @z[%i8] : f32\n%d8 = cast %v8 : f64\nstore @m[%i8, "
      "%zero], %d8\n}\n";
  EXPECT_THAT(shape(concurrent(fill("x", "0") + fill("y", "1") + both + reverse("z", "x", "2") +
                               reverse("z", "y", "3") + third)),
              ElementsAre("loop@0.0", "loop@0.1", "loop", "loop@1.0", "loop@1.1", "loop@1.2"));
}

TEST(Concurrency, StatementsBeforeTheFirstLoopBelongToIt) {
  EXPECT_THAT(
      shape(concurrent("%w = const 1 : i32\nstore @n[%zero], %w\n" + fill("x", "0") + fill("y", "1"))),
      ElementsAre("serial@0.0", "loop@0.0", "loop@0.1"));
}

TEST(Concurrency, ReasonsAreOfLoops) {
  const std::string store = "%g = const 1 : f32\nstore @x[%zero], %g\n";
  EXPECT_THAT(concurrent(fill("x", "0") + fill("y", "1") + store + reverse("x", "x", "2")).order,
              testing::IsEmpty());
  EXPECT_THAT(concurrent(fill("y", "0") + fill("x", "1") + store).order, testing::IsEmpty());
  EXPECT_THAT(concurrent("region {\n" + fill("x", "0") + reverse("x", "x", "1") + "} and {\n" +
                         fill("z", "2") + "}\n")
                  .order,
              testing::IsEmpty())
      << "a stream block of one group";
}

// One of three loops writes its part of @x, and the others read theirs.
TEST(Concurrency, PartsOfAnArrayMayBeReadAndWritten) {
  const std::string bounds = "%a = const 20 : i64\n%b = const 40 : i64\n%c = const 60 : i64\n";
  const char* const parts[] = {"%zero to %a", "%a to %b", "%b to %c"};
  for (int writer = 0; writer < 3; ++writer) {
    std::string body = bounds;
    for (int k = 0; k < 3; ++k) {
      const std::string n = std::to_string(k), own = k == 0 ? "@y[%i0]" : k == 1 ? "@z[%i1]" : "@x[%i2]";
      const std::string value = "%v" + n + " = load @x[%i" + n + "] : f32\n";
      body += "parallel (%i" + n + ") in (" + parts[k] + ") {\n" +
              (k == writer ? "%f" + n + " = const 1 : f32\nstore @x[%i" + n + "], %f" + n + "\n"
               : k == 2    ? value + "%w2 = cast %v2 : f64\nstore @m[%i2, %zero], %w2\n"
                           : value + "store " + own + ", %v" + n + "\n") +
              "}\n";
    }
    const passes::Plan p = concurrent(body);
    ASSERT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.1", "loop@0.2")) << body;
    for (const passes::PlannedTask& planned : p.tasks) EXPECT_THAT(planned.divided, ElementsAre(0)) << body;
  }
}

// Longer stretches are compared in parts of 64 segments.
TEST(Concurrency, StretchesOfUpTo64AreCompared) {
  const auto loops = [](int count) {
    std::string body;
    for (int k = 1; k < count; ++k) body += fill("x", "s" + std::to_string(k));
    return body + fill("y", "last");
  };
  const auto regions = [](const std::string& body, bool phases) {
    const passes::Plan p = passes::make_plan(
        kernel(body), 8, {.known = {.no_alias = true}, .phases = phases, .concurrency = true});
    return phases ? ir::region_blocks(p.tasks.at(0).task) : p.region_blocks.size();
  };
  EXPECT_EQ(regions(loops(64), false), 1u);
  EXPECT_EQ(regions(loops(65), false), 0u);
  EXPECT_EQ(regions(loops(64), true), 2u);
  EXPECT_EQ(regions(loops(65), true), 1u);
  const auto grouped = [&](int count) {
    return concurrent("region {\n" + loops(count) + "} and {\n" + fill("z", "z") + "}\n").has_independent;
  };
  EXPECT_TRUE(grouped(64));
  EXPECT_FALSE(grouped(65));
}

TEST(Concurrency, FindsAsManyRegionsAsALaunchCounts) {
  std::string body;
  for (int k = 0; k < 80; ++k) {
    const std::string n = std::to_string(k);
    body += fill("x", "a" + n) + fill("y", "b" + n) + "parallel (%s" + n + ") in (%zero to %len) {\n%p" + n +
            " = load @x[%s" + n + "] : f32\nstore @y[%s" + n + "], %p" + n + "\n}\n";
  }
  EXPECT_EQ(concurrent(body).region_blocks.size(), 64u);
}

TEST(Concurrency, GroupLoopsAreNoStreamBlocksOfOneTask) {
  const std::string group =
      "%four = const 4 : i64\nparallel (%g, %t) in (%zero to %one, %zero to %four) group 4 {\n%f = const 1 : "
      "f32\nstore @z[%t], %f\n}\n";
  const passes::Plan p = passes::make_plan(
      kernel(fill("x", "0") + group), 8, {.known = {.no_alias = true}, .phases = true, .concurrency = true});
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
}

TEST(Concurrency, EachLoopOfAStreamBlockMayBeAGroup) {
  const passes::Plan p =
      concurrent("region {\n" + fill("x", "0") + fill("y", "1") + "} and {\n" + fill("z", "2") + "}\n");
  ASSERT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.0/1", "loop@0.1"));
  EXPECT_TRUE(p.has_independent);
  EXPECT_THAT(p.order, testing::IsEmpty());
}

TEST(Concurrency, LoopsOfAGroupThatDependHaveAReason) {
  const passes::Plan p = concurrent("region {\n" + fill("x", "0") + reverse("x", "x", "1") + fill("y", "2") +
                                    "} and {\n" + fill("z", "3") + "}\n");
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "loop@0.0", "loop@0.0/1", "loop@0.1"));
  EXPECT_THAT(p.order, ElementsAre(Field(&passes::FusionDecision::reason, HasSubstr("@x is stored at"))));
}

// Reading one variable is no dependence; what is printed and read elsewhere is none either.
TEST(Concurrency, LoopsMayReadOneVariable) {
  const std::string variable = "%a = arg @a : f32\nlocal $v : f32\nset $v, %a\n";
  const auto reads = [](const std::string& array, const std::string& tag) {
    return "parallel (%i" + tag + ") in (%zero to %len) {\n%g" + tag + " = get $v : f32\nstore @" + array +
           "[%i" + tag + "], %g" + tag + "\n}\n";
  };
  EXPECT_THAT(shape(concurrent(variable + reads("x", "0") + reads("y", "1"))),
              ElementsAre("serial", "loop@0.0", "loop@0.1"));
  const std::string prints = "parallel (%i5) in (%zero to %len) {\nprint \"{}\", %i5\n}\n";
  EXPECT_THAT(shape(concurrent(prints + fill("x", "1"))), ElementsAre("loop@0.0", "loop@0.1"));
  EXPECT_THAT(shape(concurrent(fill("x", "1") + prints)), ElementsAre("loop@0.0", "loop@0.1"));
}

TEST(Concurrency, AtomicsAndOtherAccessesToOneArrayKeepTheOrder) {
  const std::string count =
      "parallel (%i5) in (%zero to %len) {\n%w = const 1 : i32\n%o = atomic.add @n[%i5], %w : i32\n}\n";
  const std::string take =
      "parallel (%i6) in (%zero to %len) {\n%v = load @n[%i6] : i32\n%f = cast %v : f32\nstore @x[%i6], "
      "%f\n}\n";
  EXPECT_THAT(shape(concurrent(count + take)), ElementsAre("loop", "loop"));
  EXPECT_THAT(shape(concurrent(take + count)), ElementsAre("loop", "loop"));
}

TEST(Concurrency, StatementsOfAStreamBlockAreNoGroupOfTheirOwn) {
  const std::string store = "%one32 = const 1 : i32\nstore @n[%zero], %one32\n";
  const passes::Plan p = concurrent("region {\n" + fill("x", "0") + store + fill("y", "1") + "} and {\n" +
                                    fill("z", "9") + "}\n");
  EXPECT_THAT(shape(p), ElementsAre("loop@0.0", "serial@0.0", "loop@0.0/1", "loop@0.1"));
}

TEST(Concurrency, StreamBlocksThatMayConflictOrRepeatAreOneGroup) {
  const std::string two = fill("x", "0") + fill("y", "1");
  EXPECT_THAT(shape(concurrent("region allow_conflicts {\n" + two + "} and {\n" + fill("z", "2") + "}\n")),
              ElementsAre("loop@0.0", "loop@0.0", "loop@0.1"));
  EXPECT_THAT(shape(concurrent("region {\nrepeat (%q) to %len {\n" + fill("x", "3") + "}\n" + two +
                               "} and {\n" + fill("z", "2") + "}\n")),
              ElementsAre("loop@0.0", "loop@0.0", "loop@0.0", "loop@0.1"));
}

TEST(Concurrency, ShortLoopsAreARegionOnlyIfAllOfThemAre) {
  const auto phases = [](const std::string& body) {
    return passes::make_plan(kernel(body), 8,
                             {.known = {.no_alias = true}, .phases = true, .concurrency = true});
  };
  const std::string two = fill("x", "0") + "%dead = load @n[%zero] : i32\n" + fill("y", "1");
  const passes::Plan whole = phases(two + reverse("x", "x", "2") + reverse("y", "y", "3"));
  ASSERT_THAT(shape(whole), ElementsAre("phases"));
  EXPECT_FALSE(whole.tasks[0].found_independent);
  EXPECT_FALSE(whole.has_independent) << "one task";
  EXPECT_EQ(ir::region_blocks(whole.tasks[0].task), 2u);
  for (const std::string& body : {two + "repeat (%q) to %len {\n" + fill("z", "2") + "}\n",
                                  fill("x", "0") + reverse("x", "y", "1") + reverse("x", "z", "2")}) {
    const passes::Plan part = phases(body);
    ASSERT_THAT(shape(part), ElementsAre("phases")) << body;
    EXPECT_EQ(ir::region_blocks(part.tasks[0].task), 1u) << "another task would be another launch";
  }
}

TEST(Concurrency, KeepsMoreRegionsThanALaunchCounts) {
  std::string body;
  for (int k = 0; k < 80; ++k)
    body += fill("x", "a" + std::to_string(k)) + fill("y", "b" + std::to_string(k)) + "region {\n" +
            fill("x", "c" + std::to_string(k)) + "} and {\n" + fill("y", "d" + std::to_string(k)) + "}\n";
  const passes::Plan p = concurrent(body);
  EXPECT_EQ(p.tasks.size(), 320u);
  EXPECT_EQ(p.region_blocks.size(), 80u) << "those that the kernel writes";
}

}  // namespace
}  // namespace weir::test
