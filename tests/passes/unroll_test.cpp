// SPDX-License-Identifier: Apache-2.0
// Sequential loops of merged loops that are written out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occurrences.hpp"
#include "plans.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The task of a loop that stores to @z, merged with one of these statements, in which %i is the index.
std::string written_out(const std::string& statements, const std::string& before = "") {
  const ir::Kernel k = kernel("%two = const 2 : i64\n%t = const true : bool\n" + before + fill("z", "0") +
                              "parallel (%i) in (%zero to %len) {\n" + statements + "}\n");
  const passes::Plan p = verified_plan(k, {passes::Fusion::same_space, {.no_alias = true, .index32 = true}});
  EXPECT_EQ(p.tasks.back().merged.size(), 2u);
  return task_text(k, p.tasks.back());
}

std::string for_loop(const std::string& index, const std::string& range, const std::string& statements,
                     const std::string& step = "%one") {
  return "for %" + index + " = " + range + " step " + step + " {\n" + statements + "}\n";
}

// Bounds are sums, differences and products of constants and of indices of outer loops. A variable that is
// declared in the loop is another one in each iteration.
TEST(Unroll, LoopsInLoopsHaveKnownBounds) {
  EXPECT_EQ(
      written_out("local $outer : f32\n" +
                  for_loop("a", "%zero to %two",
                           "local $inner : f32[2]\n%b0 = add %a, %one : i64\n%b1 = mul %b0, %two : i64\n"
                           "%b2 = sub %b1, %a : i64\n%b3 = sub %b2, %one : i64\n" +
                               for_loop("b", "%b0 to %b2",
                                        "%v = load @x[%b] : f32\nset $inner[%a], %v\n"
                                        "if %t {\n%w = get $inner[%one] : f32\nset $outer, %w\n}\n") +
                               for_loop("c", "%b3 to %b2", "%u = load @y[%c] : f32\nset $outer, %u\n")) +
                  "%s = get $outer : f32\nstore @x[%i], %s\n"),
      R"({
  %0 = const 0 : i64
  %1 = const 1 : i64
  %2 = extent @x, 0 : i64
  %3 = const true : bool
  parallel (%4) in (%0 to %2) {
    %5 = const 1 : f32
    store @z[%4], %5
    local $0 : f32
    %6 = const 0 : i64
    local $1 : f32[2]
    %7 = const 1 : i64
    %8 = load @x[%7] : f32
    set $1[%6], %8
    if %3 {
      %9 = get $1[%1] : f32
      set $0, %9
    }
    %10 = const 1 : i64
    %11 = load @y[%10] : f32
    set $0, %11
    %12 = const 1 : i64
    local $2 : f32[2]
    %13 = const 2 : i64
    %14 = load @x[%13] : f32
    set $2[%12], %14
    if %3 {
      %15 = get $2[%1] : f32
      set $0, %15
    }
    %16 = const 2 : i64
    %17 = load @y[%16] : f32
    set $0, %17
    %18 = get $0 : f32
    store @x[%4], %18
  }
}
)");
}

// The statements of a loop inside that stays are those of each iteration.
TEST(Unroll, OtherStatementsAreCopied) {
  EXPECT_EQ(
      written_out(
          for_loop("a", "%one to %three",
                   "%f = const 3 : f32\nwhile {\n%v = load @x[%a] : f32\n%q = lt %v, %f : bool\nyield %q\n"
                   "} do {\nstore @x[%a], %f\n}\n" +
                       for_loop("b", "%a to %len", "%w = load @y[%b] : f32\nstore @x[%b], %w\n")),
          "%three = const 3 : i64\n"),
      R"({
  %0 = const 0 : i64
  %1 = const 1 : i64
  %2 = extent @x, 0 : i64
  parallel (%3) in (%0 to %2) {
    %4 = const 1 : f32
    store @z[%3], %4
    %5 = const 1 : i64
    %6 = const 3 : f32
    while {
      %7 = load @x[%5] : f32
      %8 = lt %7, %6 : bool
      yield %8
    } do {
      store @x[%5], %6
    }
    for %9 = %5 to %2 step %1 {
      %10 = load @y[%9] : f32
      store @x[%9], %10
    }
    %11 = const 2 : i64
    %12 = const 3 : f32
    while {
      %13 = load @x[%11] : f32
      %14 = lt %13, %12 : bool
      yield %14
    } do {
      store @x[%11], %12
    }
    for %15 = %11 to %2 step %1 {
      %16 = load @y[%15] : f32
      store @x[%15], %16
    }
  }
}
)");
}

// Variables of the kernel, and those of the merged loop outside of the loop that is written out.
TEST(Unroll, OtherVariablesKeepTheirNames) {
  const std::string text = written_out(
      "local $r : f32\nlocal $s : f32\n%a = get $p : f32\n%b = get $q : f32\nset $r, %a\nset $s, %b\n" +
          for_loop("k", "%zero to %two", "%u = get $q : f32\nset $s, %u\n") +
          "%v = get $r : f32\n%w = get $s : f32\nstore @x[%i], %v\nstore @y[%i], %w\n",
      "local $p : f32\nlocal $q : f32\n%p0 = load @x[%zero] : f32\n%q0 = load @y[%zero] : f32\nset $p, "
      "%p0\nset $q, %q0\n");
  EXPECT_EQ(text, R"({
  %0 = const 0 : i64
  %1 = extent @x, 0 : i64
  %2 = scratch.load 0 : f32
  %3 = scratch.load 4 : f32
  parallel (%4) in (%0 to %1) {
    %5 = const 1 : f32
    store @z[%4], %5
    local $0 : f32
    local $1 : f32
    set $0, %2
    set $1, %3
    set $1, %3
    set $1, %3
    %6 = get $0 : f32
    %7 = get $1 : f32
    store @x[%4], %6
    store @y[%4], %7
  }
}
)");
}

TEST(Unroll, LoopsWithoutIterationsDisappear) {
  for (const char* const range : {"%two to %two", "%two to %one"}) {
    const std::string text = written_out(for_loop("a", range, "%f = const 7 : f32\nstore @x[%i], %f\n") +
                                         "%g = const 5 : "
                                         "f32\nstore @y[%i], %g\n");
    EXPECT_THAT(text, Not(HasSubstr("for %")));
    EXPECT_THAT(text, Not(HasSubstr("store @x")));
    EXPECT_THAT(text, HasSubstr("store @y"));
  }
}

TEST(Unroll, LongOrUnknownLoopsStay) {
  const auto loops = [](const std::string& range, const std::string& step = "%one",
                        const std::string& statements = "%f = const 3 : f32\nstore @x[%a], %f\n") {
    return occurrences(
        written_out(for_loop("a", range, statements, step),
                    "%c = arg @c : i64\n%low = const -3 : i64\n%h13 = const 13 : i64\n%h14 = const 14 : "
                    "i64\n%least = const -9223372036854775808 : i64\n%most = const 9223372036854775807 : "
                    "i64\n%d = div %h13, %one : i64\n%sum1 = add %c, %one : i64\n%sum2 = add %one, %c : "
                    "i64\n%three = const 3 : i64\n"),
        "for %");
  };
  EXPECT_EQ(loops("%low to %h13"), 0u) << "16 iterations";
  EXPECT_EQ(loops("%low to %h14"), 1u) << "17 iterations";
  EXPECT_EQ(loops("%least to %most"), 1u);
  EXPECT_EQ(loops("%zero to %c"), 1u);
  EXPECT_EQ(loops("%c to %one"), 1u);
  EXPECT_EQ(loops("%zero to %two", "%c"), 1u);
  EXPECT_EQ(loops("%zero to %two", "%two"), 1u);
  EXPECT_EQ(loops("%zero to %sum1"), 1u);
  EXPECT_EQ(loops("%zero to %sum2"), 1u);
  EXPECT_EQ(loops("%zero to %d"), 1u) << "a quotient is not computed here";
  EXPECT_EQ(loops("%zero to %two", "%one", "print \"{}\", %a\n"), 1u);
  EXPECT_EQ(loops("%zero to %two", "%one", "assert %t, \"no\"\n"), 1u);
  EXPECT_EQ(loops("%zero to %two", "%one", "if %t {\nbreak\n}\n%f = const 3 : f32\nstore @x[%a], %f\n"), 1u);
  EXPECT_EQ(loops("%zero to %two", "%one", "if %t {\ncontinue\n}\n%f = const 3 : f32\nstore @x[%a], %f\n"),
            1u);
  const std::string leave = "if %t {\nbreak\n}\n%f = const 3 : f32\nstore @x[%a], %f\n}\n";
  EXPECT_EQ(loops("%zero to %three", "%one", "for %b = %zero to %c step %one {\n" + leave), 3u)
      << "the jump is one of the inner loop, which stays in all iterations";
  EXPECT_EQ(loops("%zero to %two", "%one", "while {\nyield %t\n} do {\n" + leave), 0u);
}

/// A loop of `iterations` with `count` statements, all but one of them constants.
std::string long_loop(const std::string& tag, int iterations, int count) {
  std::string statements = "store @x[%a" + tag + "], %r" + tag + "_1\n";
  for (int i = 1; i < count; ++i)
    statements = "%r" + tag + "_" + std::to_string(i) + " = const 4 : f32\n" + statements;
  return "%e" + tag + " = const " + std::to_string(iterations) + " : i64\n" +
         for_loop("a" + tag, "%zero to %e" + tag, statements);
}

TEST(Unroll, ALoopWrittenOutHasAtMost2000Statements) {
  EXPECT_EQ(occurrences(written_out(long_loop("1", 4, 500)), "for %"), 0u);
  EXPECT_EQ(occurrences(written_out(long_loop("1", 3, 667)), "for %"), 1u) << "2001";
  const std::string next = written_out(long_loop("1", 3, 667) + long_loop("2", 2, 3));
  EXPECT_EQ(occurrences(next, "for %"), 1u) << "the next loop is";
  EXPECT_EQ(occurrences(next, "store @x"), 3u);
  EXPECT_EQ(occurrences(next, "store @z"), 1u) << "the statements before it are";
  std::string all;
  for (const char* const tag : {"1", "2", "3", "4"}) all += long_loop(tag, 16, 126);
  EXPECT_EQ(occurrences(written_out(all + long_loop("5", 2, 3)), "for %"), 4u)
      << "those that stay do not count";
  const std::string inside =
      written_out(for_loop("o", "%zero to %two", long_loop("1", 4, 499) + long_loop("2", 2, 2)));
  EXPECT_EQ(occurrences(inside, "for %"), 1u) << "too long with the loops inside it, which are not";
}

// Values that are computed from an index are other ones in each iteration.
TEST(Unroll, ElementsOfDifferentIterationsAreDifferent) {
  const std::string text = written_out(
      for_loop(
          "k", "%zero to %two",
          "%n = add %k, %one : i64\n%v = load @x[%n] : f32\n%d = cast %v : f64\nstore @m[%i, %n], %d\n") +
      "%p = load @m[%i, %one] : f64\n%q = load @m[%i, %two] : f64\n%s = sub %p, %q : f64\nstore @m[%i, "
      "%zero], %s\n");
  EXPECT_EQ(occurrences(text, "store @m"), 3u) << text;
  EXPECT_EQ(occurrences(text, "load @m"), 0u) << text;
}

TEST(Unroll, ConstantsMayBeInTheBlockAroundTheLoops) {
  const ir::Kernel k =
      kernel("repeat (%r) to %len {\n%two = const 2 : i64\n" + fill("z", "0") +
             "parallel (%i) in (%zero to %len) {\n" +
             for_loop("a", "%zero to %two", "%f = const 3 : f32\nstore @x[%a], %f\n") + "}\n}\n");
  const passes::Plan p = verified_plan(k, {passes::Fusion::same_space, {.no_alias = true, .index32 = true}});
  EXPECT_EQ(occurrences(task_text(k, p.tasks.at(0)), "for %"), 0u);
}

// The first loop has 2 statements, and each loop one more for its length.
TEST(Unroll, AMergedLoopHasAtMost8000Statements) {
  const auto loops_with = [](int last) {
    std::string statements;
    for (const char* const tag : {"1", "2", "3"}) statements += long_loop(tag, 16, 125);
    return occurrences(written_out(statements + long_loop("4", 13, 152) + long_loop("5", 1, last)), "for %");
  };
  EXPECT_EQ(loops_with(17), 0u) << "2 + 3 * 2001 + 1977 + 1 + 17 = 8000";
  EXPECT_EQ(loops_with(18), 1u);
  std::string three;
  for (const char* const tag : {"1", "2", "3"}) three += long_loop(tag, 16, 125);
  const ir::Kernel k = kernel(fill("z", "0") + "parallel (%i) in (%zero to %len) {\n" + three +
                              "}\n%g = const 1 : f32\nstore @y[%zero], %g\n" + fill("z", "1") +
                              "parallel (%j) in (%zero to %len) {\n" + long_loop("4", 16, 125) + "}\n");
  const passes::Plan p = verified_plan(k, {passes::Fusion::same_space, {.no_alias = true, .index32 = true}});
  EXPECT_EQ(occurrences(task_text(k, p.tasks.back()), "for %"), 0u) << "each merged loop by itself";
}

}  // namespace
}  // namespace weir::test
