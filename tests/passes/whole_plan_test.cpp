// SPDX-License-Identifier: Apache-2.0
// The whole plans of one small kernel of each kind.
#include "whole_plan.hpp"

#include <gtest/gtest.h>

namespace weir::test {
namespace {

// A loaded value and a local variable arrive in scratch memory; a quotient is computed again.
TEST(WholePlan, OfStatementsAndALoop) {
  EXPECT_EQ(plan_text(R"(weir-ir 1
kernel "step 1"
  param @x : array<f32, 1>
  param @m : array<vec<f64, 2>, 2>
  param @v : vec<i64, 3>
{
  %zero = const 0 : i64
  %len = extent @x, 0 : i64
  %rows = extent @m, 1 : i64
  %v1 = arg @v.1 : i64
  %half = div %len, %v1 : i64
  local $s : f32
  %first = load @x[%zero] : f32
  set $s, %first
  parallel (%i, %j) in (%v1 to %half, %zero to %rows) {
    %s = get $s : f32
    %m = load @m[%i, %j].1 : f64
    %f = cast %m : f32
    %q = div %s, %f : f32
    %p = add %q, %first : f32
    store @x[%i], %p
    %again = load @m[%i, %j].1 : f64
    store @m[%j, %i].0, %again
  }
}
)"),
            R"(
task step_1_0_serial serial !0:7:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 0 : f32 !0:12:3
  scratch.store 0, %1 !0:12:3
  %2 = load @x[%0] : f32 !0:13:3
  scratch.store 4, %2 !0:13:3
  scratch.store 0, %2 !0:14:3
}
values 3, locals 0, cost 8 exactly
arguments of 16 bytes
  array @x u64 0+8
  scratch u64 8+8
traffic @x reads 4 writes 0
task step_1_1_loop parallel !0:15:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = extent @x, 0 : i64 !0:8:3
  %2 = extent @m, 1 : i64 !0:9:3
  %3 = arg @v.1 : i64 !0:10:3
  %4 = div %1, %3 : i64 !0:11:3
  %5 = scratch.load 4 : f32 !0:13:3
  %6 = scratch.load 0 : f32 !0:12:3
  parallel (%7, %8) in (%3 to %4, %0 to %2) !0:15:3 {
    %9 = load @m[%7, %8].1 : f64 !0:17:5
    %10 = cast %9 : f32 !0:18:5
    %11 = div %6, %10 : f32 !0:19:5
    %12 = add %11, %5 : f32 !0:20:5
    store @x[%7], %12 !0:21:5
    %13 = load @m[%7, %8].1 : f64 !0:22:5
    store @m[%8, %7].0, %13 !0:23:5
  }
}
values 14, locals 0, cost 18 exactly
arguments of 48 bytes
  array @x u64 0+8
  array @m u64 8+8
  scratch u64 16+8
  extent @x i64 24+8
  extent @m.1 i64 32+8
  scalar @v.1 i64 40+8
traffic @x reads 0 writes 4
traffic @m reads 8 writes 8
bounds [@v.1, expression 0) [0, @m:1)
expression extent arg div gives value 2
scratch 64
facts: separate
)");
}

TEST(WholePlan, OfAReductionAndTheStatementsAfterIt) {
  EXPECT_EQ(plan_text(R"(weir-ir 1
kernel "r"
  param @x : array<i32, 1>
  param @y : array<i64, 0>
{
  %zero = const 0 : i64
  %len = extent @x, 0 : i64
  %start = load @y[] : i64
  %least = reduce.min (%i) in (%start to %len) : i32 {
    %v = load @x[%i] : i32
    yield %v
  }
  store @x[%zero], %least
  %largest = reduce.max (%k) in (%start to %len) : i64 {
    yield %k
  }
  parallel (%j) in (%zero to %len) {
    store @x[%j], %least
    store @y[], %largest
  }
}
)",
                      {}, 16),
            R"(
task r_0_serial serial !0:8:3
{
  %0 = load @y[] : i64 !0:8:3
  scratch.store 0, %0 !0:8:3
}
values 1, locals 0, cost 4 exactly
arguments of 32 bytes
  array @y u64 0+16
  scratch u64 16+16
traffic @y reads 8 writes 0
task r_1_reduce reduce_partial !0:9:3
{
  %0 = extent @x, 0 : i64 !0:7:3
  %1 = scratch.load 0 : i64 !0:8:3
  %2 = reduce.min (%3) in (%1 to %0) : i32 !0:9:3 {
    %4 = load @x[%3] : i32 !0:10:5
    yield %4 !0:11:5
  }
}
values 5, locals 0, cost 3 exactly
arguments of 48 bytes
  array @x u64 0+16
  scratch u64 16+16
  extent @x i64 32+8
traffic @x reads 4 writes 0
bounds [device, @x:0)
partials 64, min of i32 at 262272
task r_2_combine reduce_final !0:9:3
{
  %0 = const 0 : i64 !0:6:3
  %1 = scratch.load 262272 : i32 !0:9:3
  store @x[%0], %1 !0:13:3
}
values 2, locals 0, cost 32772 exactly
arguments of 32 bytes
  array @x u64 0+16
  scratch u64 16+16
traffic @x reads 0 writes 4
partials 64, min of i32 at 262272
task r_3_reduce reduce_partial !0:14:3
{
  %0 = extent @x, 0 : i64 !0:7:3
  %1 = scratch.load 0 : i64 !0:8:3
  %2 = reduce.max (%3) in (%1 to %0) : i64 !0:14:3 {
    yield %3 !0:15:5
  }
}
values 4, locals 0, cost 1 exactly
arguments of 32 bytes
  scratch u64 0+16
  extent @x i64 16+8
bounds [device, @x:0)
partials 262336, max of i64 at 524544
task r_4_combine reduce_final !0:14:3
{
}
values 0, locals 0, cost 32768 exactly
arguments of 16 bytes
  scratch u64 0+16
partials 262336, max of i64 at 524544
task r_5_loop parallel !0:17:3
{
  %0 = const 0 : i64 !0:6:3
  %1 = extent @x, 0 : i64 !0:7:3
  %2 = scratch.load 262272 : i32 !0:9:3
  %3 = scratch.load 524544 : i64 !0:14:3
  parallel (%4) in (%0 to %1) !0:17:3 {
    store @x[%4], %2 !0:18:5
    store @y[], %3 !0:19:5
  }
}
values 5, locals 0, cost 4 exactly
arguments of 64 bytes
  array @x u64 0+16
  array @y u64 16+16
  scratch u64 32+16
  extent @x i64 48+8
traffic @x reads 0 writes 4
traffic @y reads 0 writes 8
bounds [0, @x:0)
scratch 524608
facts: separate
)");
}

// The condition and the values that cross repetitions are in scratch memory.
TEST(WholePlan, OfARepetitionThatTheDeviceEnds) {
  const std::string text = R"(weir-ir 1
kernel "r"
  param @x : array<f32, 1>
  param @n : array<i64, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %len = extent @x, 0 : i64
  local $sum : f32
  repeat (%k) to %len while {
    %s = reduce.sum (%i) in (%zero to %len) : f32 {
      %v = load @x[%i] : f32
      yield %v
    }
    %old = get $sum : f32
    %new = add %old, %s : f32
    set $sum, %new
    %more = lt %old, %new : bool
    yield %more
  } do {
    %count = load @n[%k] : i64
    repeat (%l) to %count {
      parallel (%j) in (%k to %len) {
        %f = cast %l : f32
        store @x[%j], %f
      }
    }
    %valid = lt %count, %len : bool
    assert %valid, "too many"
  }
  %end = get $sum : f32
  store @x[%zero], %end
}
)";
  EXPECT_EQ(plan_text(text), R"(
task r_0_serial serial !0:9:3
{
  %0 = const 0 : f32 !0:9:3
  scratch.store 0, %0 !0:9:3
}
values 1, locals 0, cost 2 exactly
arguments of 16 bytes
  scratch u64 0+8
task r_1_phases phases !0:10:3
{
  %0 = extent @x, 0 : i64 !0:8:3
  repeat (%1) to %0 while !0:10:3 {
    phase partials 64 result 262272 !0:11:5 {
      %2 = const 0 : i64 !0:6:3
      %3 = extent @x, 0 : i64 !0:8:3
      %4 = reduce.sum (%5) in (%2 to %3) : f32 !0:11:5 {
        %6 = load @x[%5] : f32 !0:12:7
        yield %6 !0:13:7
      }
    }
    phase !0:15:5 {
      %7 = scratch.load 262272 : f32 !0:11:5
      %8 = scratch.load 0 : f32 !0:15:5
      scratch.store 262280, %8 !0:15:5
      %9 = add %8, %7 : f32 !0:16:5
      scratch.store 0, %9 !0:17:5
    }
    phase !0:19:5 {
      %10 = scratch.load 262272 : f32 !0:11:5
      %11 = scratch.load 262280 : f32 !0:15:5
      %12 = add %11, %10 : f32 !0:16:5
      %13 = lt %11, %12 : bool !0:18:5
      %14 = failed : bool !0:19:5
      %15 = not %14 : bool !0:19:5
      %16 = and %13, %15 : bool !0:19:5
      scratch.store 262284, %16 !0:19:5
    }
    %17 = scratch.load 262284 : bool !0:19:5
    yield %17 !0:19:5
  } do {
    phase !0:21:5 {
      %18 = load @n[%1] : i64 !0:21:5
      scratch.store 262288, %18 !0:21:5
    }
    %19 = scratch.load 262288 : i64 !0:21:5
    repeat (%20) to %19 !0:22:5 {
      phase !0:23:7 {
        %21 = extent @x, 0 : i64 !0:8:3
        parallel (%22) in (%1 to %21) !0:23:7 {
          %23 = cast %20 : f32 !0:24:9
          store @x[%22], %23 !0:25:9
        }
      }
    }
    phase !0:28:5 {
      %24 = extent @x, 0 : i64 !0:8:3
      %25 = scratch.load 262288 : i64 !0:21:5
      %26 = lt %25, %24 : bool !0:28:5
      assert %26, "too many" !0:29:5
    }
  }
}
values 27, locals 0, cost 279328
arguments of 48 bytes
  array @x u64 0+8
  array @n u64 8+8
  scratch u64 16+8
  error u64 24+8
  extent @x i64 32+8
  site_base u32 40+4
traffic @x reads all writes all
traffic @n reads all writes 0
phase line 11 [0, @x:0) cost 3
phase line 23 [expression 0 varies, @x:0) cost 3
barriers 7
title r_1_phases (k.weir:11, k.weir:23)
task r_2_serial serial !0:31:3
{
  %0 = const 0 : i64 !0:6:3
  %1 = scratch.load 0 : f32 !0:31:3
  store @x[%0], %1 !0:32:3
}
values 2, locals 0, cost 4 exactly
arguments of 16 bytes
  array @x u64 0+8
  scratch u64 8+8
traffic @x reads 0 writes 4
expression repetition gives value 0
scratch 262336
facts: error_record separate
)");
  const std::string cooperative = plan_text(text, {.cooperative = true});
  EXPECT_NE(cooperative.find("\n  barrier u64 32+8\n"), std::string::npos) << cooperative;
  EXPECT_EQ(cooperative.substr(cooperative.find("others read")), R"(others read 0
barriers 7
title r_1_phases (k.weir:11, k.weir:23)
task r_2_serial serial !0:31:3
{
  %0 = const 0 : i64 !0:6:3
  %1 = scratch.load 0 : f32 !0:31:3
  store @x[%0], %1 !0:32:3
}
values 2, locals 0, cost 4 exactly
arguments of 16 bytes
  array @x u64 0+8
  scratch u64 8+8
traffic @x reads 0 writes 4
expression repetition gives value 0
scratch 262336
facts: error_record cooperative
)");
}

TEST(WholePlan, OfRepetitionsThatTheHostCounts) {
  EXPECT_EQ(plan_text(R"(weir-ir 1
kernel "r"
  param @x : array<f32, 1>
  param @c : i64
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %len = extent @x, 0 : i64
  %c = arg @c : i64
  %f = const 1.5 : f32
  repeat (%empty) to %c {
    %dead = load @x[%empty] : f32
  }
  repeat (%k) to %c {
    store @x[%k], %f
    %next = add %k, %one : i64
    repeat (%l) to %next {
      parallel (%i) in (%l to %len) {
        store @x[%i], %f
        print "{} {}", %i, %f
      }
    }
    parallel (%j) in (%zero to %len) {
      store @x[%j], %f
    }
  }
  repeat (%n) to %len {
    store @x[%zero], %f
  }
}
)"),
            R"(
task r_0_serial serial !0:15:5
{
  %0 = const 1.5 : f32 !0:10:3
  %1 = repetition 0 : i64 !0:14:3
  store @x[%1], %0 !0:15:5
}
values 2, locals 0, cost 2 exactly
arguments of 16 bytes
  array @x u64 0+8
  repetition i64 8+8
traffic @x reads 0 writes 4
task r_1_loop parallel !0:18:7
{
  %0 = extent @x, 0 : i64 !0:8:3
  %1 = const 1.5 : f32 !0:10:3
  %2 = repetition 0 : i64 !0:14:3
  %3 = repetition 1 : i64 !0:17:5
  parallel (%4) in (%3 to %0) !0:18:7 {
    store @x[%4], %1 !0:19:9
    print "{} {}", %4, %1, %2, %3 !0:20:9
  }
}
values 5, locals 0, cost 18 exactly
arguments of 48 bytes
  array @x u64 0+8
  print u64 8+8
  extent @x i64 16+8
  repetition i64 24+8
  repetition.1 i64 32+8
  site_base u32 40+4
  launch u32 44+4
traffic @x reads 0 writes 4
bounds [expression 1 varies, @x:0)
task r_2_loop parallel !0:23:5
{
  %0 = const 0 : i64 !0:6:3
  %1 = extent @x, 0 : i64 !0:8:3
  %2 = const 1.5 : f32 !0:10:3
  parallel (%3) in (%0 to %1) !0:23:5 {
    store @x[%3], %2 !0:24:7
  }
}
values 4, locals 0, cost 2 exactly
arguments of 16 bytes
  array @x u64 0+8
  extent @x i64 8+8
traffic @x reads 0 writes 4
bounds [0, @x:0)
task r_3_serial serial !0:28:5
{
  %0 = const 0 : i64 !0:6:3
  %1 = const 1.5 : f32 !0:10:3
  store @x[%0], %1 !0:28:5
}
values 2, locals 0, cost 2 exactly
arguments of 16 bytes
  array @x u64 0+8
traffic @x reads 0 writes 4
repeat at line 14 of tasks 0 to 3, depth 0, count @c.0
repeat at line 17 of tasks 1 to 2, depth 1, count expression 0 varies
repeat at line 27 of tasks 3 to 4, depth 0, count @x:0
expression const repetition add gives value 2
expression repetition gives value 0
facts: prints separate
)");
}

}  // namespace
}  // namespace weir::test
