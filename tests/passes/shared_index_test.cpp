// SPDX-License-Identifier: Apache-2.0
// Which loops over different spaces are merged because they share one index.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fusion_plans.hpp"
#include "occurrences.hpp"

namespace weir::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_EQ(reason(p),
            "the loop at k.weir:20:1 prints, and its lines are in the order of all of its own indices");
  const passes::Plan first =
      shared("%six = const 6 : i64\n" +
             rows("1", "print \"{}\", %j1\n%v1 = const 1 : f64\nstore @m[%i1, %j1], %v1\n", "%zero to %len",
                  "%zero to %six") +
             last(""));
  EXPECT_EQ(reason(first),
            "the loop at k.weir:15:1 prints, and its lines are in the order of all of its own indices");
}

TEST(SharedIndex, ReductionsAndLoopsThatCanFailStayApart) {
  const std::string first =
      "%six = const 6 : i64\n" +
      rows("1", "%v1 = const 1 : f64\nstore @m[%i1, %j1], %v1\n", "%zero to %len", "%zero to %six");
  const passes::Plan sum =
      shared(first +
             "%s = reduce.sum (%i2) in (%zero to %len) : f64 {\n%v2 = load @m[%i2, %one] : "
             "f64\nyield %v2\n}\nstore @m[%zero, %zero], %s\n");
  EXPECT_THAT(shape(sum), ElementsAre("loop", "reduce", "combine"));
  EXPECT_EQ(reason(sum), "a reduction is merged only with loops over the same space");
  const passes::Plan fails =
      shared(first + loop("2", "%t2 = lt %i2, %six : bool\nassert %t2, \"no\"\n" + put("y[%i2]", "2")));
  EXPECT_EQ(
      reason(fails),
      "the loop at k.weir:20:1 can fail, and iterations of a later loop run after a failure of an earlier "
      "one");
}

// The smallest constant extent is 256; other extents are unknown.
TEST(SharedIndex, HasAtLeast256ValuesIfTheirNumberIsKnown) {
  const auto together = [](const std::string& low, const std::string& high, const std::string& before = "") {
    const std::string bounds = low + " to " + high;
    return reason(
        shared(before + "%c = arg @c : i64\n%six = const 6 : i64\n" + loop("1", put("y[%i1]", "1"), bounds) +
               rows("2", "%v2 = load @y[%i2] : f32\n%d2 = cast %v2 : f64\nstore @m[%i2, %j2], %d2\n", bounds,
                    "%zero to %six")));
  };
  const std::string numbers =
      "%e = const 256 : i64\n%k = const 257 : i64\n%sum = add %len, %e : i64\n%less = add "
      "%len, %one : i64\n";
  EXPECT_EQ(together("%zero", "%e", numbers), "");
  EXPECT_EQ(together("%one", "%k", numbers), "");
  EXPECT_EQ(together("%one", "%e", numbers), "the earlier loop has no index with enough values");
  EXPECT_EQ(together("%len", "%sum", numbers), "");
  EXPECT_EQ(together("%len", "%less", numbers), "the earlier loop has no index with enough values");
  EXPECT_EQ(together("%zero", "%c"), "");
  EXPECT_EQ(together("%c", "%one"), "");
}

// The plan has one decision for each pair of neighbours; the reason is the last one's.
TEST(SharedIndex, ReasonsReplaceThoseOfLoopsOverOneSpace) {
  const std::string first =
      "%six = const 6 : i64\n" +
      rows("1", "%v1 = const 1 : f64\nstore @m[%i1, %j1], %v1\n", "%zero to %len", "%zero to %six");
  const std::string second = loop("2", put("y[%i2]", "2"), "%one to %len");
  EXPECT_EQ(reason(fused(first + second)), "they have different numbers of indices");
  const passes::Plan p = shared(first + second + loop("3", put("z[%i3]", "3"), "%one to %len"));
  ASSERT_EQ(p.fusion.size(), 2u);
  EXPECT_EQ(p.fusion[0].reason, "no index of both has the same bounds");
  EXPECT_TRUE(p.fusion[1].merged);
}

// Merged loops keep their places when a pass merges them with another one.
TEST(SharedIndex, AMergedLoopStandsForAllItsLoops) {
  const std::string body =
      loop("1", put("x[%i1]", "1")) + loop("2", put("y[%i2]", "2")) + "%six = const 6 : i64\n" +
      rows("3", "%v3 = load @y[%i3] : f32\n%d3 = cast %v3 : f64\nstore @m[%i3, %j3], %d3\n", "%zero to %len",
           "%zero to %six");
  const passes::Plan p = shared(body);
  ASSERT_THAT(shape(p), ElementsAre("loop"));
  std::vector<std::uint32_t> lines;
  for (const passes::PlannedLoop& written : p.tasks[0].merged) lines.push_back(written.location.line);
  EXPECT_THAT(lines, ElementsAre(14, 19, 25));
}

// The last loop needs values of other rows of the second one.
TEST(SharedIndex, AllLoopsOfAGroupCount) {
  const auto over = [](const std::string& tag, const std::string& high, const std::string& statements) {
    return rows(tag, statements, "%zero to %len", "%zero to " + high);
  };
  const std::string two = "%six = const 6 : i64\n%seven = const 7 : i64\n" + loop("1", put("x[%i1]", "1")) +
                          over("2", "%six", "%d = const 1 : f64\nstore @m[%i2, %j2], %d\n");
  const auto last = [&](const std::string& row) {
    return over("3", "%seven",
                "%k = sub %i3, %one : i64\n%v = load @m[" + row +
                    ", %zero] : f64\n%f = cast %v : f32\nstore @y[%i3], %f\n");
  };
  EXPECT_THAT(shape(shared(two + last("%i3"))), ElementsAre("loop"));
  const passes::Plan p = shared(two + last("%k"));
  EXPECT_THAT(shape(p), ElementsAre("loop", "loop"));
  EXPECT_THAT(p.fusion.back().reason, HasSubstr("@m is stored at"));
}

// The index is the second one of the first loop; the merged loop has its bounds.
TEST(SharedIndex, MayBeAnyIndexOfALoop) {
  const passes::Plan p =
      shared("%six = const 6 : i64\n" +
             rows("1", "%v1 = const 1 : f64\nstore @m[%i1, %j1], %v1\n", "%zero to %six", "%one to %len") +
             loop("2", put("y[%i2]", "2"), "%one to %len"));
  ASSERT_THAT(shape(p), ElementsAre("loop"));
  ASSERT_EQ(p.tasks[0].rank, 1);
  EXPECT_EQ(p.tasks[0].low[0].constant, 1);
  EXPECT_EQ(p.tasks[0].high[0].kind, passes::HostBound::Kind::extent);
}

// Each of two merged loops has the constants of its own inner loops.
TEST(SharedIndex, TwoMergedLoopsAreComplete) {
  const auto pair = [](const std::string& a, const std::string& b) {
    return loop(a, put("y[%i" + a + "]", a)) +
           rows(b,
                "%v" + b + " = load @y[%i" + b + "] : f32\n%d" + b + " = cast %v" + b +
                    " : f64\nstore @m[%i" + b + ", %j" + b + "], %d" + b + "\n",
                "%zero to %len", "%zero to %c");
  };
  EXPECT_THAT(shape(shared("%c = arg @c : i64\n" + pair("1", "2") +
                           "%f = const 1 : f32\nstore @x[%zero], %f\n" + pair("3", "4"))),
              ElementsAre("loop", "serial", "loop"));
}

TEST(SharedIndex, AContinueIsOneOfTheInnermostLoop) {
  const std::string leave = "%q = lt %j1, %one : bool\nif %q {\ncontinue\n}\n";
  const std::string text = merged_text("%c = arg @c : i64\n" +
                                           rows("1", leave + "%v1 = const 1 : f64\nstore @m[%i1, %j1], %v1\n",
                                                "%zero to %len", "%zero to %c") +
                                           loop("2", put("y[%i2]", "2")),
                                       passes::Fusion::shared_index);
  EXPECT_EQ(occurrences(text, "for %"), 1u);
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
