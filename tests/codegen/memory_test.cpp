// SPDX-License-Identifier: Apache-2.0
// Locals, control flow, elements of several components, scratch and atomics.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "harness.hpp"
#include "occurrences.hpp"

namespace weir::test {
namespace {

/// For launches of arrays that share no memory.
codegen::Target separate_arrays(const std::string& processor, const std::string& features) {
  codegen::Target target{"elf-x86_64", processor, features, 1, 1};
  target.assumptions.no_alias = true;
  return target;
}

/// The text that is emitted for such launches.
std::string emitted(const Program& program, const std::string& processor, const std::string& features,
                    const std::string& what) {
  return emit(program, separate_arrays(processor, features), what);
}

/// Whether this machine runs code for x86-64-v4.
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

TEST(Local, ArraysStartAtZeroInEveryIteration) {
  Code code(R"(weir-ir 1
kernel "histogram of digits"
param @x: array<i32, 1>
param @r: array<i32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %ten = const 10 : i64
  %d = const 10 : i32
  %i0 = const 0 : i32
  %i1 = const 1 : i32
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $rest : i32
    local $seen : i32[10]
    local $distinct : i32
    %x = load @x[%i] : i32
    set $rest, %x
    while {
      %left = get $rest : i32
      %more = gt %left, %i0 : bool
      yield %more
    } do {
      %v = get $rest : i32
      %digit = rem %v, %d : i32
      %next = div %v, %d : i32
      set $rest, %next
      %at = cast %digit : i64
      %count = get $seen[%at] : i32
      %more_count = add %count, %i1 : i32
      set $seen[%at], %more_count
    }
    for %k = %zero to %ten step %one {
      %c = get $seen[%k] : i32
      %absent = eq %c, %i0 : bool
      if %absent {
        continue
      }
      %u = get $distinct : i32
      %u1 = add %u, %i1 : i32
      set $distinct, %u1
    }
    %result = get $distinct : i32
    store @r[%i], %result
  }
}
)");
  std::vector<std::int32_t> x{0, 7, 11, 12, 1234567890, 1002, 99999}, r(x.size(), -1);
  code.array("x", x).array("r", r).run(3, 1);
  EXPECT_EQ(r, (std::vector<std::int32_t>{0, 1, 1, 2, 10, 3, 1}));
}

constexpr const char* search = R"(weir-ir 1
kernel "first multiple"
param @x: array<i64, 1>
param @r: array<i64, 1>
param @step: i64
{
  %zero = const 0 : i64
  %limit = const 100 : i64
  %n = extent @x, 0 : i64
  %step = arg @step : i64
  %none = const -1 : i64
  parallel (%i) in (%zero to %n) {
    local $found : i64
    set $found, %none
    %x = load @x[%i] : i64
    for %k = %zero to %limit step %step {
      %m = rem %k, %x : i64
      %divides = eq %m, %zero : bool
      %past = gt %k, %zero : bool
      %both = and %divides, %past : bool
      if %both {
        set $found, %k
        break
      }
    }
    %v = get $found : i64
    %missing = lt %v, %zero : bool
    if %missing {
      continue
    }
    store @r[%i], %v
  }
}
)";

TEST(Control, BreakLeavesTheInnermostLoopAndContinueEndsTheIteration) {
  Code code(search);
  std::vector<std::int64_t> x{3, 7, 200, 99, 5}, r(x.size(), -9);
  code.array("x", x).array("r", r).scalar("step", std::int64_t{1}).run(2, 1);
  EXPECT_EQ(r, (std::vector<std::int64_t>{3, 7, -9, 99, 5}));
}

TEST(Control, LoopsWithoutAPositiveStepRunNothing) {
  Code code(search);
  for (std::int64_t step : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    std::vector<std::int64_t> x{3, 7}, r(x.size(), -9);
    code.array("x", x).array("r", r).scalar("step", step).run();
    EXPECT_EQ(r, (std::vector<std::int64_t>{-9, -9}));
  }
}

TEST(Control, LoopsEndWhereTheIndexWouldOverflow) {
  Code code(R"(weir-ir 1
kernel "to the end"
param @r: array<i64, 1>
param @low: i64
param @high: i64
param @step: i64
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %low = arg @low : i64
  %high = arg @high : i64
  %step = arg @step : i64
  local $count : i64
  for %k = %low to %high step %step {
    %c = get $count : i64
    %c1 = add %c, %one : i64
    set $count, %c1
  }
  %v = get $count : i64
  store @r[%zero], %v
}
)");
  constexpr auto top = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> r(1);
  code.array("r", r).scalar("low", top - 10).scalar("high", top).scalar("step", std::int64_t{3}).run();
  EXPECT_EQ(r[0], 4);
  code.scalar("low", std::numeric_limits<std::int64_t>::min()).scalar("high", top).scalar("step", top).run();
  EXPECT_EQ(r[0], 3);
}

TEST(Elements, ComponentsOfVectorsAndMatricesAreContiguous) {
  Code code(R"(weir-ir 1
kernel "transpose and cross"
param @m: array<mat<f32, 2, 3>, 1>
param @t: array<mat<f32, 3, 2>, 1>
param @v: array<vec<f64, 3>, 2>
param @s: vec<f64, 3>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = extent @m, 0 : i64
  %s2 = arg @s.2 : f64
  parallel (%i) in (%zero to %n) {
    %a = load @m[%i].1 : f32
    store @t[%i].2, %a
    %b = load @m[%i].5 : f32
    store @t[%i].5, %b
    %x = load @v[%one, %i].0 : f64
    %y = mul %x, %s2 : f64
    store @v[%zero, %i].1, %y
  }
}
)");
  std::vector<float> m(18), t(18);
  std::iota(m.begin(), m.end(), 0.0f);
  std::vector<double> v(18);
  std::iota(v.begin(), v.end(), 0.0);
  code.array("m", m.data(), {3})
      .array("t", t.data(), {3})
      .array("v", v.data(), {2, 3})
      .scalar("s", std::array<double, 3>{1, 2, 10})
      .run();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(t[6 * i + 2], m[6 * i + 1]);
    EXPECT_EQ(t[6 * i + 5], m[6 * i + 5]);
    EXPECT_EQ(v[3 * i + 1], 10.0 * double(9 + 3 * i));
  }
}

template <class T>
class Atomic : public testing::Test {};
using AtomicTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Atomic, AtomicTypes);

TYPED_TEST(Atomic, ThreadsDoNotLoseUpdates) {
  using T = TypeParam;
  const std::string t(to_string(element_type<T>.scalar));
  Code code("weir-ir 1\nkernel \"atomics\"\nparam @r: array<" + t +
            ", 1>\nparam @n: i64\n{\n  %zero = const 0 : i64\n"
            "  %c1 = const 1 : i64\n  %c2 = const 2 : i64\n  %c3 = const 3 : i64\n  %n = arg @n : i64\n"
            "  %one = const 1 : " +
            t + "\n  parallel (%i) in (%zero to %n) {\n    %v = cast %i : " + t +
            "\n"
            "    %o0 = atomic.add @r[%zero], %one : " +
            t + "\n    %o1 = atomic.sub @r[%c1], %one : " + t +
            "\n"
            "    %o2 = atomic.min @r[%c2], %v : " +
            t + "\n    %o3 = atomic.max @r[%c3], %v : " + t + "\n  }\n}\n");
  constexpr std::int64_t n = 40000;
  std::vector<T> r{0, T(n), T(n), 0};
  code.array("r", r).scalar("n", n);
  std::vector<std::jthread> threads;
  for (std::uint64_t k = 0; k < 4; ++k) threads.emplace_back([&, k] { code.run_blocks(4, k, k + 1); });
  threads.clear();
  EXPECT_EQ(r, (std::vector<T>{T(n), 0, 0, T(n - 1)}));
}

TEST(Atomics, ExchangeAndCompareExchangeGiveTheOldValue) {
  Code code(R"(weir-ir 1
kernel "swap"
param @r: array<f32, 1>
param @old: array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %a = const 5 : f32
  %b = const 7 : f32
  %wrong = const 9 : f32
  %o0 = atomic.exchange @r[%zero], %a : f32
  store @old[%zero], %o0
  %o1 = atomic.compare_exchange @r[%zero], %a, %b : f32
  store @old[%one], %o1
  %o2 = atomic.compare_exchange @r[%zero], %wrong, %a : f32
  store @old[%two], %o2
}
)");
  std::vector<float> r{1}, old(3);
  code.array("r", r).array("old", old).run();
  EXPECT_EQ(r[0], 7);
  EXPECT_EQ(old, (std::vector<float>{1, 5, 7}));
}

TEST(Atomics, BitOperationsAndFloatMinimumWithNan) {
  Code code(R"(weir-ir 1
kernel "bits"
param @u: array<u32, 1>
param @f: array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %mask = const 12 : u32
  %nan = const nan : f32
  %minus = const -0 : f32
  %a = atomic.and @u[%zero], %mask : u32
  %b = atomic.or @u[%one], %mask : u32
  %c = atomic.xor @u[%two], %mask : u32
  %d = atomic.min @f[%zero], %nan : f32
  %e = atomic.min @f[%one], %minus : f32
}
)");
  std::vector<std::uint32_t> u{10, 3, 10};
  std::vector<float> f{4, 0};
  code.array("u", u).array("f", f).run();
  EXPECT_EQ(u, (std::vector<std::uint32_t>{8, 15, 6}));
  EXPECT_EQ(f[0], 4);
  EXPECT_TRUE(f[1] == 0 && std::signbit(f[1]));
}

// LLVM 22 loses the extension of a mask that it spills: tests/evidence/llvm-kmovb.md.
// proves R36
TEST(MaskedBytes, MasksAreNotExtendedByMovesOnProcessorsWithAvx512) {
  for (const std::string type : {"i8", "u8"}) {
    const Program program = parse_program("weir-ir 1\nkernel \"bytes\"\nparam @x: array<" + type +
                                          ", 1>\nparam @y: array<i64, 1>\n" + R"(param @r: array<bool, 1>
{
  %zero = const 0 : i64
  %limit = const 77 : i64
  %none = const 0 : )" + type + R"(
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : )" + type + R"(
    %absent = eq %x, %none : bool
    if %absent {
      %y = load @y[%i] : i64
      %less = le %limit, %y : bool
      store @r[%i], %less
    }
  }
}
)");
    for (const char* features : {"+prefer-256-bit", "-prefer-256-bit"}) {
      const std::string code = emitted(program, "x86-64-v4", features, "asm");
      EXPECT_THAT(code, testing::ContainsRegex("vmovdqu8\t%xmm[0-9]*, [^\n]*[{]%k"));
      EXPECT_THAT(code, testing::Not(testing::HasSubstr("kmovb\t%k"))) << type << ", " << features;
    }
  }
}

// LLVM 22 divides only if the first iteration of a vector does: tests/evidence/llvm-division.md.
// proves R36
TEST(ConditionalDivisions, AreNotInVectorLoops) {
  for (const std::string type : {"u8", "u32", "u64", "i64"})
    for (const std::string op : {"div", "rem"})
      for (const std::string divisor : {"extent @x, 0 : i64", "arg @s : i64"}) {
        const Program program = parse_program("weir-ir 1\nkernel \"k\"\n" + std::string(R"(
param @reached: array<bool, 1>
param @x: array<i64, 1>
param @r: array<i64, 1>
param @s: i64
{
  %zero = const 0 : i64
  %n = extent @reached, 0 : i64
  %d = )") + divisor + R"(
  parallel (%i) in (%zero to %n) {
    %c = load @reached[%i] : bool
    if %c {
      %a = const 100 : )" + type + R"(
      %b = cast %d : )" + type + R"(
      %q = )" + op + " %a, %b : " + type + R"(
      %at = cast %q : i64
      %v = load @x[%at] : i64
      store @r[%i], %v
    }
  }
}
)");
        const std::string code = emitted(program, "x86-64-v4", "", "llvm-opt");
        EXPECT_THAT(code, testing::HasSubstr("vector.body:"));
        EXPECT_THAT(code, testing::Not(testing::HasSubstr("pred.udiv")));
        EXPECT_THAT(code, testing::Not(testing::HasSubstr("pred.urem")));
      }
}

// LLVM 22 makes one store of several and moves it past others: tests/evidence/llvm-interleaved.md.
// proves R36
TEST(InterleavedAccesses, KeepTheirOrder) {
  const auto program_with = [](const std::string& more) {
    return parse_program(R"(weir-ir 1
kernel "k"
param @x: array<f32, 1>
param @a: array<f32, 1>
param @b: array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %four = const 4 : i64
  %limit = const 7 : f32
  %size = extent @x, 0 : i64
  %n = div %size, %four : i64
  parallel (%r) in (%zero to %n) {
    %first = mul %r, %four : i64
    for %c = %zero to %four step %one {
      %t = add %first, %c : i64
      %v = load @x[%t] : f32
      %w = add %v, %v : f32
      store @a[%t], %w
)" + more + "    }\n  }\n}\n");
  };
  const std::string stored_twice = R"(
      %y = load @b[%t] : f32
      %z = add %y, %v : f32
      store @b[%t], %z
      %q = gt %v, %limit : bool
      if %q {
        store @a[%t], %limit
      })";
  const std::string read_again = R"(
      %y = load @b[%t] : f32
      store @b[%t], %v
      %u = load @a[%t] : f32
      %z = mul %u, %y : f32
      store @x[%t], %z)";
  for (const std::string target : {"x86-64-v3", "x86-64-v4", "znver4"}) {
    const std::string independent = emitted(program_with(""), target, "", "llvm-opt");
    EXPECT_THAT(independent, testing::HasSubstr("vector.body:")) << target;
    EXPECT_THAT(independent, testing::Not(testing::HasSubstr("vector.memcheck:"))) << target;
  }
  constexpr std::size_t n = 400;
  for (const std::string target : {"x86-64-v3", "x86-64-v4"}) {
    if (target == "x86-64-v4" && !has_avx512()) continue;
    for (const bool twice : {false, true}) {
      std::vector<float> x(n), a(n, -1), b(n, 2), y(n), expected_a(n), expected_b(n);
      for (std::size_t i = 0; i < n; ++i) {
        x[i] = y[i] = float(i % 23);
        expected_a[i] = twice && x[i] > 7 ? 7 : 2 * x[i];
        expected_b[i] = twice ? 2 + x[i] : x[i];
        if (!twice) y[i] = 2 * x[i] * 2;
      }
      Code code(program_with(twice ? stored_twice : read_again), separate_arrays(target, ""));
      code.array("x", x).array("a", a).array("b", b).run();
      EXPECT_EQ(a, expected_a) << target << twice;
      EXPECT_EQ(b, expected_b) << target << twice;
      EXPECT_EQ(x, y) << target << twice;
    }
  }
}

// The load's index is that of the first store, which only its value shows. LLVM would make one store of both.
// proves R36
TEST(InterleavedAccesses, AreNotMovedPastALoadThatMayReadThem) {
  const Program program = parse_program(R"(weir-ir 1
kernel "k"
param @a: array<f32, 1>
param @x: array<f32, 1>
param @at: array<i64, 1>
param @y: array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %even = mul %i, %two : i64
    %odd = add %even, %one : i64
    %x = load @x[%i] : f32
    %w = add %x, %x : f32
    store @a[%even], %w
    %k = load @at[%i] : i64
    %u = load @a[%k] : f32
    store @y[%i], %u
    store @a[%odd], %x
  }
}
)");
  for (const std::string processor : {"x86-64-v3", "x86-64-v4"}) {
    if (processor == "x86-64-v4" && !has_avx512()) continue;
    constexpr std::size_t n = 100;
    std::vector<float> a(2 * n, -1), x(n), y(n), expected(n);
    std::vector<std::int64_t> at(n);
    for (std::size_t i = 0; i < n; ++i)
      x[i] = float(i), at[i] = std::int64_t(2 * i), expected[i] = float(2 * i);
    Code code(program, separate_arrays(processor, ""));
    code.array("a", a).array("x", x).array("at", at).array("y", y).run();
    EXPECT_EQ(y, expected) << processor;
  }
}

// Rows of one array, as in merged loops: no vector moves past another access, so that LLVM need not look.
TEST(InterleavedAccesses, OfWholeRowsAreVectors) {
  const Program program = parse_program(R"(weir-ir 1
kernel "k"
param @x: array<f32, 2>
param @y: array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %n = extent @y, 0 : i64
  parallel (%i) in (%zero to %n) {
    %a = load @x[%zero, %i] : f32
    %b = load @x[%one, %i] : f32
    %c = add %a, %b : f32
    store @x[%one, %i], %c
    %d = load @x[%two, %i] : f32
    %e = mul %c, %d : f32
    store @x[%zero, %i], %e
    store @y[%i], %d
  }
}
)");
  const std::string code = emitted(program, "x86-64-v3", "", "llvm-opt");
  EXPECT_THAT(code, testing::HasSubstr("vector.body:"));
  EXPECT_THAT(code, testing::Not(testing::HasSubstr("vector.memcheck:")));
}

TEST(SeparateArrays, AreReadOnceBeforeAndAfterStoresToOthers) {
  const Program program = parse_program(R"(weir-ir 1
kernel "k"
param @x: array<f32, 1>
param @y: array<f32, 1>
param @z: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %a = load @x[%i] : f32
    %b = add %a, %a : f32
    store @y[%i], %b
    %c = load @x[%i] : f32
    %d = mul %c, %c : f32
    store @z[%i], %d
  }
}
)");
  for (const char* processor : {"x86-64-v3", "x86-64-v4"}) {
    const std::string code = emitted(program, processor, "", "llvm-opt");
    EXPECT_GT(occurrences(code, "load <"), 0u);
    EXPECT_EQ(2 * occurrences(code, "load <"), occurrences(code, "store <")) << code;
  }
}

// Without AVX512DQ, LLVM 22 cannot select conversions to f16 by AVX512FP16.
// proves R36
TEST(MaskedBytes, AreStoredBesideConversionsToF16OnProcessorsWithAvx512Fp16) {
  for (const std::string type : {"i64", "u64"}) {
    const Program program = parse_program("weir-ir 1\nkernel \"bytes\"\nparam @x: array<" + type + R"(, 1>
param @half: array<f16, 1>
param @done: array<bool, 1>
{
  %zero = const 0 : i64
  %limit = const 32 : )" + type + R"(
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : )" + type + R"(
    %half = cast %x : f16
    store @half[%i], %half
    %more = gt %x, %limit : bool
    if %more {
      store @done[%i], %more
    }
  }
}
)");
    const std::string code = emitted(program, "x86-64-v4", "+avx512fp16,-prefer-256-bit", "asm");
    EXPECT_THAT(code, testing::ContainsRegex("vmovdqu8\t%xmm[0-9]*, [^\n]*[{]%k")) << type;
  }
}

}  // namespace
}  // namespace weir::test
