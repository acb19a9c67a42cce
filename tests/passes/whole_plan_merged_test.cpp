// SPDX-License-Identifier: Apache-2.0
// The whole plans of kernels whose loops are merged, divided, or phases of one.
#include <gtest/gtest.h>

#include "fusion_plans.hpp"
#include "whole_plan.hpp"

namespace weir::test {
namespace {

TEST(WholePlan, OfMergedLoops) {
  const std::string text = R"(weir-ir 1
kernel "r"
  param @x : array<f32, 1>
  param @y : array<f32, 1>
  param @m : array<f32, 2>
{
  %zero = const 0 : i64
  %two = const 2 : i64
  %many = const 20 : i64
  %len = extent @x, 0 : i64
  parallel (%i) in (%zero to %len) {
    %v = load @x[%i] : f32
    store @y[%i], %v
  }
  parallel (%j) in (%zero to %len) {
    %w = load @y[%j] : f32
    %s = add %w, %w : f32
    store @x[%j], %s
  }
  parallel (%k, %l) in (%zero to %many, %zero to %len) {
    %u = load @x[%l] : f32
    store @m[%k, %l], %u
  }
  parallel (%p, %q) in (%zero to %len, %zero to %two) {
    %n = load @m[%q, %p] : f32
    %o = add %n, %n : f32
    store @m[%q, %p], %o
  }
  parallel (%t) in (%zero to %len) {
    %a = load @x[%zero] : f32
    store @y[%t], %a
  }
}
)";
  EXPECT_EQ(plan_text(text, {passes::Fusion::same_space, usual}), R"(
task r_0_loop parallel !0:11:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = extent @x, 0 : i64 !0:10:3
  parallel (%2) in (%0 to %1) !0:11:3 {
    %3 = load @x[%2] : f32 !0:12:5
    store @y[%2], %3 !0:13:5
    %4 = add %3, %3 : f32 !0:17:5
    store @x[%2], %4 !0:18:5
  }
}
values 5, locals 0, cost 7 exactly
arguments of 32 bytes
  array @x u64 0+8
  array @y u64 8+8
  extent @x i64 16+8
traffic @x reads 4 writes 4
traffic @y reads 0 writes 4
bounds [0, @x:0)
merged line 11 [0, @x:0)
merged line 15 [0, @x:0)
is merged
title r_0_loop (k.weir:11, k.weir:15)
task r_1_loop parallel !0:20:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 20 : i64 !0:9:3
  %2 = extent @x, 0 : i64 !0:10:3
  parallel (%3, %4) in (%0 to %1, %0 to %2) !0:20:3 {
    %5 = load @x[%4] : f32 !0:21:5
    store @m[%3, %4], %5 !0:22:5
  }
}
values 6, locals 0, cost 4 exactly
arguments of 32 bytes
  array @x u64 0+8
  array @m u64 8+8
  extent @x i64 16+8
  extent @m.1 i64 24+8
traffic @x reads 4 writes 0
traffic @m reads 0 writes 4
bounds [0, 20) [0, @x:0)
task r_2_loop parallel !0:24:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 2 : i64 !0:8:3
  %2 = extent @x, 0 : i64 !0:10:3
  parallel (%3, %4) in (%0 to %2, %0 to %1) !0:24:3 {
    %5 = load @m[%4, %3] : f32 !0:25:5
    %6 = add %5, %5 : f32 !0:26:5
    store @m[%4, %3], %6 !0:27:5
  }
}
values 7, locals 0, cost 5 exactly
arguments of 32 bytes
  array @m u64 0+8
  extent @x i64 8+8
  extent @m.1 i64 16+8
traffic @m reads 4 writes 4
bounds [0, @x:0) [0, 2)
task r_3_loop parallel !0:29:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = extent @x, 0 : i64 !0:10:3
  parallel (%2) in (%0 to %1) !0:29:3 {
    %3 = load @x[%0] : f32 !0:30:5
    store @y[%2], %3 !0:31:5
  }
}
values 4, locals 0, cost 4 exactly
arguments of 32 bytes
  array @x u64 0+8
  array @y u64 8+8
  extent @x i64 16+8
traffic @x reads 4 writes 0
traffic @y reads 0 writes 4
bounds [0, @x:0)
fusion of lines 11 and 15: merged
fusion of lines 15 and 20: apart
  they have different numbers of indices
fusion of lines 20 and 24: apart
  their bounds come from different values
fusion of lines 24 and 29: apart
  they have different numbers of indices
facts: merged
)");
  EXPECT_EQ(plan_text(text, {passes::Fusion::shared_index, usual}), R"(
task r_0_loop parallel !0:11:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 20 : i64 !0:9:3
  %2 = extent @x, 0 : i64 !0:10:3
  parallel (%3) in (%0 to %2) !0:11:3 {
    %4 = load @x[%3] : f32 !0:12:5
    store @y[%3], %4 !0:13:5
    %5 = add %4, %4 : f32 !0:17:5
    store @x[%3], %5 !0:18:5
    %6 = const 1 : i64 !0:20:3
    for %7 = %0 to %1 step %6 !0:20:3 {
      store @m[%7, %3], %5 !0:22:5
    }
    %8 = const 0 : i64 !0:24:3
    %9 = load @m[%8, %3] : f32 !0:25:5
    %10 = add %9, %9 : f32 !0:26:5
    store @m[%8, %3], %10 !0:27:5
    %11 = const 1 : i64 !0:24:3
    %12 = load @m[%11, %3] : f32 !0:25:5
    %13 = add %12, %12 : f32 !0:26:5
    store @m[%11, %3], %13 !0:27:5
  }
}
values 14, locals 0, cost 77 exactly
arguments of 48 bytes
  array @x u64 0+8
  array @y u64 8+8
  array @m u64 16+8
  extent @x i64 24+8
  extent @m.1 i64 32+8
traffic @x reads 4 writes 4
traffic @y reads 0 writes 4
traffic @m reads 8 writes all
bounds [0, @x:0)
merged line 11 [0, @x:0)
merged line 15 [0, @x:0)
merged line 20 [0, 20) [0, @x:0)
merged line 24 [0, @x:0) [0, 2)
is merged
keeps loops
title r_0_loop (k.weir:11, k.weir:15, k.weir:20, k.weir:24)
task r_1_loop parallel !0:29:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = extent @x, 0 : i64 !0:10:3
  parallel (%2) in (%0 to %1) !0:29:3 {
    %3 = load @x[%0] : f32 !0:30:5
    store @y[%2], %3 !0:31:5
  }
}
values 4, locals 0, cost 4 exactly
arguments of 32 bytes
  array @x u64 0+8
  array @y u64 8+8
  extent @x i64 16+8
traffic @x reads 4 writes 0
traffic @y reads 0 writes 4
bounds [0, @x:0)
fusion of lines 11 and 15: merged
fusion of lines 15 and 20: merged
fusion of lines 20 and 24: merged
fusion of lines 24 and 29: apart
  @x is stored at k.weir:18:5 and loaded at k.weir:30:5, possibly by different iterations
facts: merged
)");
}

TEST(WholePlan, OfLoopsFoundIndependent) {
  EXPECT_EQ(plan_text(R"(weir-ir 1
kernel "r"
  param @x : array<f32, 1>
  param @y : array<f32, 1>
  param @z : array<f32, 1>
{
  %zero = const 0 : i64
  %two = const 2 : i64
  %len = extent @x, 0 : i64
  %half = div %len, %two : i64
  %f = const 1 : f32
  parallel (%i) in (%zero to %half) {
    store @x[%i], %f
  }
  parallel (%j) in (%half to %len) {
    store @x[%j], %f
  }
  parallel (%k) in (%zero to %len) {
    %v = load @x[%zero] : f32
    store @y[%k], %v
  }
  region {
    parallel (%p) in (%zero to %half) {
      store @x[%p], %f
    }
    parallel (%q) in (%half to %len) {
      store @x[%q], %f
    }
    store @y[%zero], %f
  } and {
    store @z[%zero], %f
  }
}
)",
                      {.known = usual, .concurrency = true}),
            R"(
task r_0_loop parallel !0:12:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 2 : i64 !0:8:3
  %2 = extent @x, 0 : i64 !0:9:3
  %3 = div %2, %1 : i64 !0:10:3
  %4 = const 1 : f32 !0:11:3
  parallel (%5) in (%0 to %3) !0:12:3 {
    store @x[%5], %4 !0:13:5
  }
}
values 6, locals 0, cost 2 exactly
arguments of 16 bytes
  array @x u64 0+8
  extent @x i64 8+8
traffic @x reads 0 writes 4
bounds [0, expression 0)
stream block 0.0/0 found
divided @x
task r_1_loop parallel !0:15:3
{
  %0 = const 2 : i64 !0:8:3
  %1 = extent @x, 0 : i64 !0:9:3
  %2 = div %1, %0 : i64 !0:10:3
  %3 = const 1 : f32 !0:11:3
  parallel (%4) in (%2 to %1) !0:15:3 {
    store @x[%4], %3 !0:16:5
  }
}
values 5, locals 0, cost 2 exactly
arguments of 16 bytes
  array @x u64 0+8
  extent @x i64 8+8
traffic @x reads 0 writes 4
bounds [expression 0, @x:0)
stream block 0.1/0 found
divided @x
task r_2_loop parallel !0:18:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = extent @x, 0 : i64 !0:9:3
  parallel (%2) in (%0 to %1) !0:18:3 {
    %3 = load @x[%0] : f32 !0:19:5
    store @y[%2], %3 !0:20:5
  }
}
values 4, locals 0, cost 4 exactly
arguments of 32 bytes
  array @x u64 0+8
  array @y u64 8+8
  extent @x i64 16+8
traffic @x reads 4 writes 0
traffic @y reads 0 writes 4
bounds [0, @x:0)
task r_3_loop parallel !0:23:5
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 2 : i64 !0:8:3
  %2 = extent @x, 0 : i64 !0:9:3
  %3 = div %2, %1 : i64 !0:10:3
  %4 = const 1 : f32 !0:11:3
  parallel (%5) in (%0 to %3) !0:23:5 {
    store @x[%5], %4 !0:24:7
  }
}
values 6, locals 0, cost 2 exactly
arguments of 16 bytes
  array @x u64 0+8
  extent @x i64 8+8
traffic @x reads 0 writes 4
bounds [0, expression 0)
stream block 1.0/0
divided @x
task r_4_loop parallel !0:26:5
{
  %0 = const 2 : i64 !0:8:3
  %1 = extent @x, 0 : i64 !0:9:3
  %2 = div %1, %0 : i64 !0:10:3
  %3 = const 1 : f32 !0:11:3
  parallel (%4) in (%2 to %1) !0:26:5 {
    store @x[%4], %3 !0:27:7
  }
}
values 5, locals 0, cost 2 exactly
arguments of 16 bytes
  array @x u64 0+8
  extent @x i64 8+8
traffic @x reads 0 writes 4
bounds [expression 0, @x:0)
stream block 1.0/1
divided @x
task r_5_serial serial !0:29:5
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 1 : f32 !0:11:3
  store @y[%0], %1 !0:29:5
}
values 2, locals 0, cost 2 exactly
arguments of 16 bytes
  array @y u64 0+8
traffic @y reads 0 writes 4
stream block 1.0/1
divided @x
task r_6_serial serial !0:31:5
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 1 : f32 !0:11:3
  store @z[%0], %1 !0:31:5
}
values 2, locals 0, cost 2 exactly
arguments of 16 bytes
  array @z u64 0+8
traffic @z reads 0 writes 4
stream block 1.1/0
divided @x
region of 2 stream blocks
region of 2 stream blocks
expression const extent div gives value 2
check @x of line 24 and @z of line 31
check @y of line 29 and @z of line 31
order of lines 15 and 18: apart
  @x is stored at k.weir:16:5 and loaded at k.weir:19:5
facts: independent
)");
}

TEST(WholePlan, OfGroupLoopsAndRandomNumbers) {
  EXPECT_EQ(plan_text(R"(weir-ir 1
kernel "r"
  param @x : array<u32, 1>
{
  %zero = const 0 : i64
  %four = const 4 : i64
  %len = extent @x, 0 : i64
  %key = launch_key : u64
  %k = cast %key : u32
  parallel (%g, %t) in (%zero to %len, %zero to %four) group 4 {
    shared $s : u32[4]
    %r = philox.1 %k, %k, %k, %k, %k, %k : u32
    set $s[%t], %r
    barrier
    %o = get $s[%zero] : u32
    %old = atomic.add @x[%g], %o : u32
  }
}
)"),
            R"(
task r_0_loop parallel !0:10:3
{
  %0 = const 0 : i64 !0:5:3
  %1 = const 4 : i64 !0:6:3
  %2 = extent @x, 0 : i64 !0:7:3
  %3 = launch_key : u64 !0:8:3
  %4 = cast %3 : u32 !0:9:3
  parallel (%5, %6) in (%0 to %2, %0 to %1) group 4 !0:10:3 {
    shared $0 : u32[4] !0:11:5
    %7 = philox.1 %4, %4, %4, %4, %4, %4 : u32 !0:12:5
    threads !0:13:5 {
      set $0[%6], %7 !0:13:5
    }
    barrier !0:14:5
    threads !0:15:5 {
      %8 = get $0[%0] : u32 !0:15:5
      %9 = atomic.add @x[%5], %8 : u32 !0:16:5
    }
  }
}
values 10, locals 1, cost 60 exactly
arguments of 32 bytes
  array @x u64 0+8
  extent @x i64 8+8
  launch_key u64 16+8
traffic @x reads 4 writes 4
bounds [0, @x:0) [0, 4)
facts: launch_key separate
)");
}

TEST(WholePlan, OfConsecutivePhases) {
  EXPECT_EQ(plan_text(R"(weir-ir 1
kernel "r"
  param @x : array<f32, 1>
  param @y : array<f32, 1>
{
  %zero = const 0 : i64
  %three = const 3 : i64
  %len = extent @x, 0 : i64
  %sum = reduce.sum (%i) in (%zero to %len) : f32 {
    %v = load @x[%i] : f32
    yield %v
  }
  repeat (%k) to %three {
    parallel (%j) in (%k to %len) {
      store @y[%j], %sum
    }
    store @x[%k], %sum
  }
  parallel (%l) in (%zero to %len) {
    %w = load @y[%l] : f32
    store @y[%l], %w
  }
  parallel (%m) in (%zero to %len) {
    %u = load @y[%m] : f32
    store @x[%m], %u
  }
}
)",
                      {.fusion = passes::Fusion::same_space, .known = usual, .phases = true}),
            R"(
task r_0_phases phases !0:9:3
{
  phase partials 0 result 262208 !0:9:3 {
    %0 = const 0 : i64 !0:6:3
    %1 = extent @x, 0 : i64 !0:8:3
    %2 = reduce.sum (%3) in (%0 to %1) : f32 !0:9:3 {
      %4 = load @x[%3] : f32 !0:10:5
      yield %4 !0:11:5
    }
  }
  %5 = const 3 : i64 !0:7:3
  repeat (%6) to %5 !0:13:3 {
    phase !0:14:5 {
      %7 = extent @x, 0 : i64 !0:8:3
      %8 = scratch.load 262208 : f32 !0:9:3
      parallel (%9) in (%6 to %7) !0:14:5 {
        store @y[%9], %8 !0:15:7
      }
    }
    phase !0:17:5 {
      %10 = scratch.load 262208 : f32 !0:9:3
      store @x[%6], %10 !0:17:5
    }
  }
  phase !0:19:3 {
    %11 = const 0 : i64 !0:6:3
    %12 = extent @x, 0 : i64 !0:8:3
    parallel (%13) in (%11 to %12) !0:19:3 {
      %14 = load @y[%13] : f32 !0:20:5
      store @y[%13], %14 !0:21:5
      store @x[%13], %14 !0:25:5
    }
  }
}
values 15, locals 0, cost 15216
arguments of 32 bytes
  array @x u64 0+8
  array @y u64 8+8
  scratch u64 16+8
  extent @x i64 24+8
traffic @x reads all writes all
traffic @y reads all writes all
phase line 9 [0, @x:0) cost 3
phase line 14 [expression 0 varies, @x:0) cost 2
phase line 19 [0, @x:0) cost 6
phase line 23 [0, @x:0)
barriers 4
title r_0_phases (k.weir:9, k.weir:14, k.weir:19, k.weir:23)
expression repetition gives value 0
fusion of lines 9 and 19: apart
  the statement at k.weir:13:3 runs between them
fusion of lines 19 and 23: merged
scratch 262272
facts:
)");
}

}  // namespace
}  // namespace weir::test
