// SPDX-License-Identifier: Apache-2.0
// The whole plans of kernels with a region, and with checked indices.
#include <gtest/gtest.h>

#include "whole_plan.hpp"

namespace weir::test {
namespace {

TEST(WholePlan, OfAWrittenRegion) {
  const std::string text = R"(weir-ir 1
kernel "r"
  param @x : array<f32, 1>
  param @m : array<f32, 2>
  param @z : array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %len = extent @x, 0 : i64
  %first = load @z[%zero] : f32
  store @z[%zero], %first
  region {
    parallel (%i) in (%zero to %len) {
      store @m[%zero, %i], %first
    }
    store @x[%one], %first
  } and {
    %dead = load @x[%zero] : f32
  } and {
    %second = load @z[%one] : f32
    parallel (%j) in (%zero to %len) {
      %w = load @m[%one, %j] : f32
      %sum = add %w, %second : f32
      store @m[%one, %j], %sum
    }
  }
  region allow_conflicts {
    store @x[%zero], %first
  } and {
    store @x[%one], %first
  }
}
)";
  EXPECT_EQ(plan_text(text), R"(
task r_0_serial serial !0:7:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = load @z[%0] : f32 !0:10:3
  scratch.store 0, %1 !0:10:3
  store @z[%0], %1 !0:11:3
}
values 2, locals 0, cost 6 exactly
arguments of 16 bytes
  array @z u64 0+8
  scratch u64 8+8
traffic @z reads 4 writes 4
task r_1_loop parallel !0:13:5
{
  %0 = const 0 : i64 !0:7:3
  %1 = extent @x, 0 : i64 !0:9:3
  %2 = scratch.load 0 : f32 !0:10:3
  parallel (%3) in (%0 to %1) !0:13:5 {
    store @m[%0, %3], %2 !0:14:7
  }
}
values 4, locals 0, cost 2 exactly
arguments of 32 bytes
  array @m u64 0+8
  scratch u64 8+8
  extent @x i64 16+8
  extent @m.1 i64 24+8
traffic @m reads 0 writes 4
bounds [0, @x:0)
stream block 0.0/0
divided @m
task r_2_serial serial !0:16:5
{
  %0 = const 1 : i64 !0:8:3
  %1 = scratch.load 0 : f32 !0:10:3
  store @x[%0], %1 !0:16:5
}
values 2, locals 0, cost 4 exactly
arguments of 16 bytes
  array @x u64 0+8
  scratch u64 8+8
traffic @x reads 0 writes 4
stream block 0.0/0
divided @m
task r_3_serial serial !0:20:5
{
  %0 = const 1 : i64 !0:8:3
  %1 = load @z[%0] : f32 !0:20:5
  scratch.store 64, %1 !0:20:5
}
values 2, locals 0, cost 4 exactly
arguments of 16 bytes
  array @z u64 0+8
  scratch u64 8+8
traffic @z reads 4 writes 0
stream block 0.1/0
divided @m
task r_4_loop parallel !0:21:5
{
  %0 = const 0 : i64 !0:7:3
  %1 = const 1 : i64 !0:8:3
  %2 = extent @x, 0 : i64 !0:9:3
  %3 = scratch.load 64 : f32 !0:20:5
  parallel (%4) in (%0 to %2) !0:21:5 {
    %5 = load @m[%1, %4] : f32 !0:22:7
    %6 = add %5, %3 : f32 !0:23:7
    store @m[%1, %4], %6 !0:24:7
  }
}
values 7, locals 0, cost 5 exactly
arguments of 32 bytes
  array @m u64 0+8
  scratch u64 8+8
  extent @x i64 16+8
  extent @m.1 i64 24+8
traffic @m reads 4 writes 4
bounds [0, @x:0)
stream block 0.1/0
divided @m
task r_5_serial serial !0:28:5
{
  %0 = const 0 : i64 !0:7:3
  %1 = scratch.load 0 : f32 !0:10:3
  store @x[%0], %1 !0:28:5
}
values 2, locals 0, cost 4 exactly
arguments of 16 bytes
  array @x u64 0+8
  scratch u64 8+8
traffic @x reads 0 writes 4
stream block 1.0/0 allows conflicts
task r_6_serial serial !0:30:5
{
  %0 = const 1 : i64 !0:8:3
  %1 = scratch.load 0 : f32 !0:10:3
  store @x[%0], %1 !0:30:5
}
values 2, locals 0, cost 4 exactly
arguments of 16 bytes
  array @x u64 0+8
  scratch u64 8+8
traffic @x reads 0 writes 4
stream block 1.1/0 allows conflicts
region of 2 stream blocks
region of 2 stream blocks
check @x of line 16 and @m of line 24
check @x of line 16 and @z of line 20
check @m of line 14 and @z of line 20
scratch 128
facts: separate
)");
  EXPECT_EQ(plan_text(text, {.phases = true}), R"(
task r_0_serial serial !0:7:3
{
  %0 = const 0 : i64 !0:7:3
  %1 = load @z[%0] : f32 !0:10:3
  scratch.store 0, %1 !0:10:3
  store @z[%0], %1 !0:11:3
}
values 2, locals 0, cost 6 exactly
arguments of 16 bytes
  array @z u64 0+8
  scratch u64 8+8
traffic @z reads 4 writes 4
task r_1_phases phases !0:13:5
{
  region !0:13:5 {
    phase !0:13:5 {
      %0 = const 0 : i64 !0:7:3
      %1 = extent @x, 0 : i64 !0:9:3
      %2 = scratch.load 0 : f32 !0:10:3
      parallel (%3) in (%0 to %1) !0:13:5 {
        store @m[%0, %3], %2 !0:14:7
      }
    }
    phase !0:16:5 {
      %4 = const 1 : i64 !0:8:3
      %5 = scratch.load 0 : f32 !0:10:3
      store @x[%4], %5 !0:16:5
    }
  } and {
    phase !0:20:5 {
      %6 = const 1 : i64 !0:8:3
      %7 = load @z[%6] : f32 !0:20:5
      scratch.store 64, %7 !0:20:5
    }
    phase !0:21:5 {
      %8 = const 0 : i64 !0:7:3
      %9 = const 1 : i64 !0:8:3
      %10 = extent @x, 0 : i64 !0:9:3
      %11 = scratch.load 64 : f32 !0:20:5
      parallel (%12) in (%8 to %10) !0:21:5 {
        %13 = load @m[%9, %12] : f32 !0:22:7
        %14 = add %13, %11 : f32 !0:23:7
        store @m[%9, %12], %14 !0:24:7
      }
    }
  }
}
values 15, locals 0, cost 2316 exactly
arguments of 48 bytes
  array @x u64 0+8
  array @m u64 8+8
  array @z u64 16+8
  scratch u64 24+8
  extent @x i64 32+8
  extent @m.1 i64 40+8
traffic @x reads 0 writes all
traffic @m reads all writes all
traffic @z reads all writes 0
phase line 13 [0, @x:0) cost 2
phase line 21 [0, @x:0) cost 5
barriers 4
title r_1_phases (k.weir:13, k.weir:21)
task r_2_serial serial !0:28:5
{
  %0 = const 0 : i64 !0:7:3
  %1 = scratch.load 0 : f32 !0:10:3
  store @x[%0], %1 !0:28:5
}
values 2, locals 0, cost 4 exactly
arguments of 16 bytes
  array @x u64 0+8
  scratch u64 8+8
traffic @x reads 0 writes 4
stream block 0.0/0 allows conflicts
task r_3_serial serial !0:30:5
{
  %0 = const 1 : i64 !0:8:3
  %1 = scratch.load 0 : f32 !0:10:3
  store @x[%0], %1 !0:30:5
}
values 2, locals 0, cost 4 exactly
arguments of 16 bytes
  array @x u64 0+8
  scratch u64 8+8
traffic @x reads 0 writes 4
stream block 0.1/0 allows conflicts
region of 2 stream blocks
check @x of line 16 and @m of line 24
check @x of line 16 and @z of line 20
check @m of line 14 and @z of line 20
scratch 128
facts:
)");
}

// With checked indices, local arrays are copied from and to scratch memory, and values of tasks that can fail
// are zero first.
TEST(WholePlan, OfCheckedIndices) {
  EXPECT_EQ(plan_text(R"(weir-ir 1
kernel "r" check_bounds
  param @x : array<f32, 1>
  param @c : i64
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %len = extent @x, 0 : i64
  %c = arg @c : i64
  %f = const 2 : f32
  local $single : f32[1]
  local $a : f32[3]
  local $plain : f32
  local $unread : f32[2]
  set $unread[%c], %f
  set $a[%c], %f
  %kept = get $plain : f32
  parallel (%i) in (%zero to %len) {
    %g = get $a[%i] : f32
    %h = get $single[%zero] : f32
    %p = get $plain : f32
    %s = add %g, %h : f32
    %t = add %s, %p : f32
    %u = add %t, %kept : f32
    store @x[%i], %u
  }
  %last = get $a[%one] : f32
  set $a[%zero], %last
  set $plain, %last
  parallel (%j) in (%zero to %len) {
    %g2 = get $a[%j] : f32
    %p2 = get $plain : f32
    %s2 = add %g2, %p2 : f32
    store @x[%j], %s2
  }
}
)"),
            R"(
task r_0_serial serial !0:9:3
{
  %0 = const 0 : f32 !0:11:3
  scratch.store 0, %0 !0:11:3
  %1 = const 0 : f32 !0:12:3
  %2 = const 0 : i64 !0:12:3
  %3 = const 3 : i64 !0:12:3
  %4 = const 1 : i64 !0:12:3
  for %5 = %2 to %3 step %4 !0:12:3 {
    scratch.store 4[%5], %1 !0:12:3
  }
  %6 = const 0 : f32 !0:13:3
  scratch.store 16, %6 !0:13:3
  %7 = const 0 : f32 !0:17:3
  scratch.store 20, %7 !0:17:3
  %8 = arg @c : i64 !0:9:3
  %9 = const 2 : f32 !0:10:3
  local $0 : f32 !0:11:3
  local $1 : f32[3] !0:12:3
  %10 = const 0 : f32 !0:13:3
  scratch.store 16, %10 !0:13:3
  local $2 : f32[2] !0:14:3
  set $2[%8], %9 !0:15:3
  set $1[%8], %9 !0:16:3
  %11 = scratch.load 16 : f32 !0:17:3
  scratch.store 20, %11 !0:17:3
  %12 = const 0 : i64 !0:11:3
  %13 = const 1 : i64 !0:11:3
  %14 = const 1 : i64 !0:11:3
  for %15 = %12 to %13 step %14 !0:11:3 {
    %16 = get $0[%15] : f32 !0:11:3
    scratch.store 0[%15], %16 !0:11:3
  }
  %17 = const 0 : i64 !0:12:3
  %18 = const 3 : i64 !0:12:3
  %19 = const 1 : i64 !0:12:3
  for %20 = %17 to %18 step %19 !0:12:3 {
    %21 = get $1[%20] : f32 !0:12:3
    scratch.store 4[%20], %21 !0:12:3
  }
}
values 22, locals 3, cost 42 exactly
arguments of 32 bytes
  scratch u64 0+8
  error u64 8+8
  scalar @c i64 16+8
  site_base u32 24+4
task r_1_loop parallel !0:18:3
{
  %0 = const 0 : i64 !0:6:3
  %1 = extent @x, 0 : i64 !0:8:3
  %2 = scratch.load 20 : f32 !0:17:3
  local $0 : f32 !0:11:3
  %3 = const 0 : i64 !0:11:3
  %4 = const 1 : i64 !0:11:3
  %5 = const 1 : i64 !0:11:3
  for %6 = %3 to %4 step %5 !0:11:3 {
    %7 = scratch.load 0[%6] : f32 !0:11:3
    set $0[%6], %7 !0:11:3
  }
  local $1 : f32[3] !0:12:3
  %8 = const 0 : i64 !0:12:3
  %9 = const 3 : i64 !0:12:3
  %10 = const 1 : i64 !0:12:3
  for %11 = %8 to %9 step %10 !0:12:3 {
    %12 = scratch.load 4[%11] : f32 !0:12:3
    set $1[%11], %12 !0:12:3
  }
  %13 = scratch.load 16 : f32 !0:13:3
  parallel (%14) in (%0 to %1) !0:18:3 {
    %15 = get $1[%14] : f32 !0:19:5
    %16 = get $0[%0] : f32 !0:20:5
    %17 = add %15, %16 : f32 !0:22:5
    %18 = add %17, %13 : f32 !0:23:5
    %19 = add %18, %2 : f32 !0:24:5
    store @x[%14], %19 !0:25:5
  }
}
values 20, locals 2, cost 7 exactly
arguments of 48 bytes
  array @x u64 0+8
  scratch u64 8+8
  error u64 16+8
  extent @x i64 24+8
  site_base u32 32+4
traffic @x reads 0 writes 4
bounds [0, @x:0)
task r_2_serial serial !0:27:3
{
  %0 = const 0 : i64 !0:6:3
  %1 = const 1 : i64 !0:7:3
  local $0 : f32[3] !0:12:3
  %2 = const 0 : i64 !0:12:3
  %3 = const 3 : i64 !0:12:3
  %4 = const 1 : i64 !0:12:3
  for %5 = %2 to %3 step %4 !0:12:3 {
    %6 = scratch.load 4[%5] : f32 !0:12:3
    set $0[%5], %6 !0:12:3
  }
  %7 = get $0[%1] : f32 !0:27:3
  set $0[%0], %7 !0:28:3
  scratch.store 16, %7 !0:29:3
  %8 = const 0 : i64 !0:12:3
  %9 = const 3 : i64 !0:12:3
  %10 = const 1 : i64 !0:12:3
  for %11 = %8 to %9 step %10 !0:12:3 {
    %12 = get $0[%11] : f32 !0:12:3
    scratch.store 4[%11], %12 !0:12:3
  }
}
values 13, locals 1, cost 29 exactly
arguments of 32 bytes
  scratch u64 0+8
  error u64 8+8
  site_base u32 16+4
task r_3_loop parallel !0:30:3
{
  %0 = const 0 : i64 !0:6:3
  %1 = extent @x, 0 : i64 !0:8:3
  local $0 : f32[3] !0:12:3
  %2 = const 0 : i64 !0:12:3
  %3 = const 3 : i64 !0:12:3
  %4 = const 1 : i64 !0:12:3
  for %5 = %2 to %3 step %4 !0:12:3 {
    %6 = scratch.load 4[%5] : f32 !0:12:3
    set $0[%5], %6 !0:12:3
  }
  %7 = scratch.load 16 : f32 !0:13:3
  parallel (%8) in (%0 to %1) !0:30:3 {
    %9 = get $0[%8] : f32 !0:31:5
    %10 = add %9, %7 : f32 !0:33:5
    store @x[%8], %10 !0:34:5
  }
}
values 11, locals 1, cost 4 exactly
arguments of 48 bytes
  array @x u64 0+8
  scratch u64 8+8
  error u64 16+8
  extent @x i64 24+8
  site_base u32 32+4
traffic @x reads 0 writes 4
bounds [0, @x:0)
scratch 64
facts: error_record separate
)");
}

}  // namespace
}  // namespace weir::test
