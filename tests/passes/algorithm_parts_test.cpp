// SPDX-License-Identifier: Apache-2.0
// The parts of a kernel that is cut at algorithms, and the loops that take the place of algorithms, as text.
#include <gtest/gtest.h>

#include "ir/algorithm.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "occurrences.hpp"
#include "passes/split_algorithms.hpp"

namespace weir::test {
namespace {

/// The bodies of the parts with the algorithms between them, and the arrays that carry values.
std::string parts_text(const std::string& text) {
  const ir::Kernel kernel = ir::parse(text, "k");
  const passes::SplitKernel split = passes::split_at_algorithms(kernel);
  std::string out = "\n";
  for (const auto& step : split.steps) {
    if (const auto* const algorithm = std::get_if<passes::AlgorithmStep>(&step)) {
      out += "algorithm " + std::to_string(static_cast<int>(algorithm->algorithm.kind)) + " of line " +
             std::to_string(algorithm->location.line) + "\n";
      continue;
    }
    const auto& part = std::get<ir::Kernel>(step);
    EXPECT_TRUE(ir::verify(part).empty());
    EXPECT_EQ(part.name, "k");
    EXPECT_EQ(part.options, kernel.options);
    EXPECT_TRUE(part.algorithms.empty());
    const std::string whole = ir::print(part, true);
    out += whole.substr(whole.find('{'));
  }
  for (const passes::CarriedArray& carried : split.carried)
    out += "carried " + std::string(to_string(carried.type)) + "[" + std::to_string(carried.count) + "]\n";
  return out;
}

// A loaded value, a variable and an array pass the sort in arrays of their types. A sum is computed again.
TEST(AlgorithmParts, PassValuesInArrays) {
  EXPECT_EQ(parts_text(R"(weir-ir 1
kernel "k"
  param @x : array<f32, 1>
  param @n : array<i64, 0>
  param @carried_0 : array<f32, 1>
{
  %zero = const 0 : i64
  %len = extent @x, 0 : i64
  %last = sub %len, %zero : i64
  %first = load @x[%zero] : f32
  %key = launch_key : u64
  local $unused : f32
  set $unused, %first
  local $v : f32
  local $a : f32[3]
  set $a[%zero], %first
  %count = load @n[] : i64
  algorithm.sort.ascending @x
  parallel (%i) in (%zero to %last) {
    %g = get $a[%i] : f32
    store @x[%i], %g
  }
  set $v, %first
  algorithm.unique @x, @carried_0, @n
  %h = get $v : f32
  store @x[%count], %h
  %f = cast %key : f32
  store @x[%zero], %f
}
)"),
            R"(
{
  %0 = const 0 : i64 !0:7:3
  %1 = extent @x, 0 : i64 !0:8:3
  %2 = sub %1, %0 : i64 !0:9:3
  %3 = load @x[%0] : f32 !0:10:3
  %4 = launch_key : u64 !0:11:3
  local $0 : f32 !0:12:3
  set $0, %3 !0:13:3
  local $1 : f32 !0:14:3
  local $2 : f32[3] !0:15:3
  set $2[%0], %3 !0:16:3
  %5 = load @n[] : i64 !0:17:3
  %6 = const 0 : i64
  store @carried_0_[%6], %3
  %7 = const 0 : i64
  store @carried_1[%7], %4
  %8 = const 0 : i64
  store @carried_2[%8], %5
  %9 = const 1 : i64
  %10 = get $1 : f32
  store @carried_0_[%9], %10
  %11 = const 0 : i64
  %12 = const 3 : i64
  %13 = const 1 : i64
  for %14 = %11 to %12 step %13 {
    %15 = const 2 : i64
    %16 = add %14, %15 : i64
    %17 = get $2[%14] : f32
    store @carried_0_[%16], %17
  }
}
algorithm 5 of line 18
{
  %0 = const 0 : i64 !0:7:3
  %1 = extent @x, 0 : i64 !0:8:3
  %2 = sub %1, %0 : i64 !0:9:3
  %3 = const 0 : i64
  %4 = load @carried_0_[%3] : f32
  local $0 : f32 !0:14:3
  %5 = const 1 : i64
  %6 = load @carried_0_[%5] : f32
  set $0, %6
  local $1 : f32[3] !0:15:3
  %7 = const 0 : i64
  %8 = const 3 : i64
  %9 = const 1 : i64
  for %10 = %7 to %8 step %9 {
    %11 = const 2 : i64
    %12 = add %10, %11 : i64
    %13 = load @carried_0_[%12] : f32
    set $1[%10], %13
  }
  parallel (%14) in (%0 to %2) !0:19:3 {
    %15 = get $1[%14] : f32 !0:20:5
    store @x[%14], %15 !0:21:5
  }
  set $0, %4 !0:23:3
  %16 = const 1 : i64
  %17 = get $0 : f32
  store @carried_0_[%16], %17
}
algorithm 9 of line 24
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 0 : i64
  %2 = load @carried_1[%1] : u64
  %3 = const 0 : i64
  %4 = load @carried_2[%3] : i64
  local $0 : f32 !0:14:3
  %5 = const 1 : i64
  %6 = load @carried_0_[%5] : f32
  set $0, %6
  %7 = get $0 : f32 !0:25:3
  store @x[%4], %7 !0:26:3
  %8 = cast %2 : f32 !0:27:3
  store @x[%0], %8 !0:28:3
}
carried f32[5]
carried u64[1]
carried i64[1]
)");
}

// What a part that can fail hands on is 0 first, and is stored before each statement that can fail.
TEST(AlgorithmParts, ThatFailHandOnWhatTheyHaveAssigned) {
  EXPECT_EQ(parts_text(R"(weir-ir 1
kernel "k"
  param @x : array<f32, 1>
  param @y : array<i64, 1>
{
  %zero = const 0 : i64
  %len = extent @x, 0 : i64
  local $v : f32
  local $a : f32[2]
  %first = load @x[%zero] : f32
  set $v, %first
  %ok = gt %first, %first : bool
  assert %ok, "greater"
  %second = load @x[%zero] : f32
  set $a[%zero], %second
  parallel (%i) in (%zero to %len) {
    assert %ok, "never first"
  }
  algorithm.sort.ascending @x
  store @x[%zero], %second
  repeat (%k) to %len while {
    %t = lt %k, %zero : bool
    yield %t
  } do {
    %g = get $v : f32
    %e = get $a[%zero] : f32
    %s = add %g, %e : f32
    store @x[%k], %s
  }
  repeat (%l) to %len {
    store @x[%l], %first
  }
}
)"),
            R"(
{
  %0 = const 0 : i64
  %1 = const 0 : f32
  store @carried_0[%0], %1
  %2 = const 1 : i64
  %3 = const 0 : f32
  store @carried_0[%2], %3
  %4 = const 2 : i64
  %5 = const 0 : f32
  store @carried_0[%4], %5
  %6 = const 0 : i64
  %7 = const 2 : i64
  %8 = const 1 : i64
  for %9 = %6 to %7 step %8 {
    %10 = const 3 : i64
    %11 = add %9, %10 : i64
    %12 = const 0 : f32
    store @carried_0[%11], %12
  }
  %13 = const 0 : i64 !0:6:3
  %14 = extent @x, 0 : i64 !0:7:3
  local $0 : f32 !0:8:3
  local $1 : f32[2] !0:9:3
  %15 = load @x[%13] : f32 !0:10:3
  set $0, %15 !0:11:3
  %16 = gt %15, %15 : bool !0:12:3
  %17 = const 0 : i64
  store @carried_0[%17], %15
  %18 = const 2 : i64
  %19 = get $0 : f32
  store @carried_0[%18], %19
  %20 = const 0 : i64
  %21 = const 2 : i64
  %22 = const 1 : i64
  for %23 = %20 to %21 step %22 {
    %24 = const 3 : i64
    %25 = add %23, %24 : i64
    %26 = get $1[%23] : f32
    store @carried_0[%25], %26
  }
  assert %16, "greater" !0:13:3
  %27 = load @x[%13] : f32 !0:14:3
  set $1[%13], %27 !0:15:3
  parallel (%28) in (%13 to %14) !0:16:3 {
    assert %16, "never first" !0:17:5
  }
  %29 = const 1 : i64
  store @carried_0[%29], %27
  %30 = const 0 : i64
  %31 = const 2 : i64
  %32 = const 1 : i64
  for %33 = %30 to %31 step %32 {
    %34 = const 3 : i64
    %35 = add %33, %34 : i64
    %36 = get $1[%33] : f32
    store @carried_0[%35], %36
  }
}
algorithm 5 of line 19
{
  %0 = const 0 : i64 !0:6:3
  %1 = extent @x, 0 : i64 !0:7:3
  %2 = const 0 : i64
  %3 = load @carried_0[%2] : f32
  %4 = const 1 : i64
  %5 = load @carried_0[%4] : f32
  local $0 : f32 !0:8:3
  %6 = const 2 : i64
  %7 = load @carried_0[%6] : f32
  set $0, %7
  local $1 : f32[2] !0:9:3
  %8 = const 0 : i64
  %9 = const 2 : i64
  %10 = const 1 : i64
  for %11 = %8 to %9 step %10 {
    %12 = const 3 : i64
    %13 = add %11, %12 : i64
    %14 = load @carried_0[%13] : f32
    set $1[%11], %14
  }
  store @x[%0], %5 !0:20:3
  repeat (%15) to %1 while !0:21:3 {
    %16 = const true : bool !0:21:3
    assert %16, "no statement before has failed" !0:21:3
    %17 = lt %15, %0 : bool !0:22:5
    yield %17 !0:23:5
  } do {
    %18 = get $0 : f32 !0:25:5
    %19 = get $1[%0] : f32 !0:26:5
    %20 = add %18, %19 : f32 !0:27:5
    store @x[%15], %20 !0:28:5
  }
  repeat (%21) to %1 !0:30:3 {
    store @x[%21], %3 !0:31:5
  }
}
carried f32[5]
)");
}

// A sum of a loaded value is carried, and a variable only to a part that uses it.
TEST(AlgorithmParts, StoreWhatLaterPartsUse) {
  const std::string text = parts_text(R"(weir-ir 1
kernel "k" no_fusion
  param @x : array<f32, 1>
{
  %zero = const 0 : i64
  %first = load @x[%zero] : f32
  %sum = add %first, %first : f32
  local $v : f32
  set $v, %first
  algorithm.sort.ascending @x
  %g = get $v : f32
  %s = add %g, %sum : f32
  set $v, %s
  store @x[%zero], %s
  algorithm.sort.ascending @x
  store @x[%zero], %sum
}
)");
  EXPECT_EQ(occurrences(text, "store @carried_0"), 2u) << text;
  EXPECT_EQ(occurrences(text, "load @carried_0"), 3u) << text;
  EXPECT_EQ(occurrences(text, " = add "), 2u) << text;
}

// Conditions of a part that cannot fail look for failures of earlier parts and algorithms.
TEST(AlgorithmParts, AnAlgorithmThatCanFailEndsLaterRepetitions) {
  const auto text = [](const std::string& algorithm) {
    return parts_text(R"(weir-ir 1
kernel "k"
  param @x : array<f32, 1>
  param @y : array<i64, 1>
{
  %zero = const 0 : i64
  %len = extent @x, 0 : i64
  )" + algorithm + R"(
  repeat (%l) to %len {
    repeat (%k) to %len while {
      %t = lt %k, %zero : bool
      yield %t
    } do {
      store @y[%k], %l
    }
  }
}
)");
  };
  EXPECT_EQ(occurrences(text("algorithm.gather @x, @y, @x"), "no statement before has failed"), 1u);
  EXPECT_EQ(occurrences(text("algorithm.scatter @x, @y, @x"), "no statement before has failed"), 1u);
  EXPECT_EQ(occurrences(text("algorithm.sort.ascending @x"), "assert"), 0u);
}

// Stream blocks with algorithms follow one another; other regions stay.
TEST(AlgorithmParts, OfStreamBlocksFollowOneAnother) {
  const std::string text = R"(weir-ir 1
kernel "k"
  param @x : array<f32, 1>
  param @y : array<f32, 1>
{
  %zero = const 0 : i64
  %f = const 1 : f32
  region {
    store @x[%zero], %f
    algorithm.sort.descending @x
  } and {
    %v = load @y[%zero] : f32
    algorithm.sort.descending @y
    store @y[%zero], %v
  }
  region {
    store @x[%zero], %f
  } and {
    store @y[%zero], %f
  }
}
)";
  EXPECT_EQ(parts_text(text), R"(
{
  %0 = const 0 : i64 !0:6:3
  %1 = const 1 : f32 !0:7:3
  store @x[%0], %1 !0:9:5
}
algorithm 5 of line 10
{
  %0 = const 0 : i64 !0:6:3
  %1 = load @y[%0] : f32 !0:12:5
  %2 = const 0 : i64
  store @carried_0[%2], %1
}
algorithm 5 of line 13
{
  %0 = const 0 : i64 !0:6:3
  %1 = const 1 : f32 !0:7:3
  %2 = const 0 : i64
  %3 = load @carried_0[%2] : f32
  store @y[%0], %3 !0:14:5
  region !0:16:3 {
    store @x[%0], %1 !0:17:5
  } and {
    store @y[%0], %1 !0:19:5
  }
}
carried f32[1]
)");
  EXPECT_TRUE(passes::has_algorithms_in_regions(ir::parse(text, "k")));
}

// Loops that read and write the arrays of an algorithm, in its place. Never run, so a print is a use.
TEST(AlgorithmParts, LoopsInPlaceOfAlgorithmsUseTheirArrays) {
  const ir::Kernel kernel = ir::parse(R"(weir-ir 1
kernel "k"
  param @m : array<f32, 2>
  param @n : array<i64, 0>
  param @x : array<i32, 1>
  param @y : array<i32, 1>
{
  algorithm.arg_min @m, @n
  region {
    algorithm.exclusive_scan.sum @x, @y size @n
  } and {
    %f = const 1 : f32
  }
}
)",
                                      "k");
  EXPECT_TRUE(passes::has_algorithms_in_regions(kernel));
  EXPECT_TRUE(passes::has_algorithm(kernel.body.statements[0]));
  EXPECT_TRUE(passes::has_algorithm(kernel.body.statements[1]));
  const ir::Kernel loops = passes::with_loops_for_algorithms(kernel);
  EXPECT_TRUE(ir::verify(loops).empty());
  EXPECT_TRUE(loops.algorithms.empty());
  EXPECT_FALSE(passes::has_algorithms_in_regions(loops));
  EXPECT_FALSE(passes::has_algorithm(loops.body.statements.back()));
  const std::string text = ir::print(loops, true);
  EXPECT_EQ("\n" + text.substr(text.find('{')), R"(
{
  %0 = const 0 : i64 !0:8:3
  %1 = extent @m, 0 : i64 !0:8:3
  %2 = const 0 : i64 !0:8:3
  %3 = extent @m, 1 : i64 !0:8:3
  parallel (%4, %5) in (%0 to %1, %2 to %3) !0:8:3 {
    %6 = load @m[%4, %5] : f32 !0:8:3
    print "{}", %6 !0:8:3
  }
  %7 = const 0 : i64 !0:8:3
  %8 = const 1 : i64 !0:8:3
  parallel (%9) in (%7 to %8) !0:8:3 {
    %10 = load @n[] : i64 !0:8:3
    store @n[], %10 !0:8:3
  }
  region !0:9:3 {
    %11 = const 0 : i64 !0:10:5
    %12 = extent @x, 0 : i64 !0:10:5
    parallel (%13) in (%11 to %12) !0:10:5 {
      %14 = load @x[%13] : i32 !0:10:5
      print "{}", %14 !0:10:5
    }
    %15 = const 0 : i64 !0:10:5
    %16 = extent @y, 0 : i64 !0:10:5
    parallel (%17) in (%15 to %16) !0:10:5 {
      %18 = load @y[%17] : i32 !0:10:5
      store @y[%17], %18 !0:10:5
    }
    %19 = const 0 : i64 !0:10:5
    %20 = const 1 : i64 !0:10:5
    parallel (%21) in (%19 to %20) !0:10:5 {
      %22 = load @n[] : i64 !0:10:5
      print "{}", %22 !0:10:5
    }
  } and {
    %23 = const 1 : f32 !0:12:5
  }
}
)");
  const ir::Kernel outside = ir::parse(
      "weir-ir 1\nkernel \"k\"\n  param @x : array<i32, 1>\n{\nalgorithm.sort.ascending @x\n}\n", "k");
  EXPECT_FALSE(passes::has_algorithms_in_regions(outside));
}

}  // namespace
}  // namespace weir::test
