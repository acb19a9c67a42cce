// SPDX-License-Identifier: Apache-2.0
// Locals and local arrays of one iteration in every lowering of loops for GPUs. AMD machine code on the HIP
// simulator must produce the same bits as host code, for each use of locals and each set of assumptions that
// changes the loop's lowering.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "gpu_harness.hpp"

namespace weir::test {
namespace {

/// Statements that pass the f32 %v through locals and leave an f32 in %w.
struct LocalUse {
  const char* name;
  const char* statements;
};

constexpr LocalUse local_uses[] = {
    {"Var", R"(
    local $u_a : f32
    set $u_a, %v
    %w = get $u_a : f32)"},
    {"VarsOfTwoTypes", R"(
    local $u_a : f32
    local $u_b : f64
    set $u_a, %v
    %u_wide = cast %v : f64
    set $u_b, %u_wide
    %u_a = get $u_a : f32
    %u_b = get $u_b : f64
    %u_narrow = cast %u_b : f32
    %u_sum = add %u_a, %u_narrow : f32
    set $u_a, %u_sum
    %w = get $u_a : f32)"},
    {"VarThatStartsAsZero", R"(
    local $u_a : f32
    %u_a = get $u_a : f32
    %w = add %u_a, %v : f32
    set $u_a, %w)"},
    {"Bool", R"(
    local $u_a : bool
    %u_some = gt %v, %half : bool
    set $u_a, %u_some
    %u_a = get $u_a : bool
    %w = select %u_a, %v, %half : f32)"},
    {"LocalArray", R"(
    local $u_a : f32[3]
    set $u_a[%one], %v
    %u_a = get $u_a[%one] : f32
    %u_b = get $u_a[%two] : f32
    set $u_a[%two], %v
    %w = add %u_a, %u_b : f32)"},
    {"LocalArrayAtTheLoopsIndex", R"(
    local $u_a : f32[4]
    %u_at = rem %last, %four : i64
    set $u_a[%u_at], %v
    %w = get $u_a[%u_at] : f32)"},
    {"VarInNestedLoops", R"(
    local $u_a : f32
    for %u_s = %zero to %two step %one {
      local $u_b : f32
      for %u_t = %zero to %two step %one {
        %u_b = get $u_b : f32
        %u_bv = add %u_b, %v : f32
        set $u_b, %u_bv
      }
      %u_bs = get $u_b : f32
      %u_a = get $u_a : f32
      %u_ab = add %u_a, %u_bs : f32
      set $u_a, %u_ab
    }
    %w = get $u_a : f32)"},
    {"LocalArrayInALoop", R"(
    local $u_a : f32
    for %u_s = %zero to %two step %one {
      local $u_b : f32[2]
      set $u_b[%u_s], %v
      %u_b0 = get $u_b[%zero] : f32
      %u_b1 = get $u_b[%one] : f32
      %u_b = add %u_b0, %u_b1 : f32
      %u_a = get $u_a : f32
      %u_ab = add %u_a, %u_b : f32
      set $u_a, %u_ab
    }
    %w = get $u_a : f32)"},
    {"While", R"(
    local $u_a : f32
    local $u_n : i64
    while {
      %u_n = get $u_n : i64
      %u_more = lt %u_n, %three : bool
      yield %u_more
    } do {
      %u_k = get $u_n : i64
      %u_next = add %u_k, %one : i64
      set $u_n, %u_next
      %u_a = get $u_a : f32
      %u_av = add %u_a, %v : f32
      set $u_a, %u_av
      %u_enough = gt %u_av, %half : bool
      if %u_enough {
        break
      }
    }
    %w = get $u_a : f32)"},
    {"If", R"(
    local $u_a : f32
    set $u_a, %half
    %u_some = gt %v, %half : bool
    if %u_some {
      local $u_b : f32
      set $u_b, %v
      %u_b = get $u_b : f32
      set $u_a, %u_b
    }
    %w = get $u_a : f32)"},
    {"Continue", R"(
    local $u_a : f32
    set $u_a, %v
    %u_early = get $u_a : f32
    %u_small = lt %u_early, %half : bool
    if %u_small {
      continue
    }
    %w = get $u_a : f32)"},
};

constexpr codegen::LaunchAssumptions no_facts{};
constexpr codegen::LaunchAssumptions aligned_facts{.aligned = true};
constexpr codegen::LaunchAssumptions distinct_facts{.no_alias = true};
constexpr codegen::LaunchAssumptions usual_assumptions{.no_alias = true, .index32 = true, .aligned = true};

const std::string constants = R"(
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %three = const 3 : i64
  %four = const 4 : i64
  %half = const 0.5 : f32
  %one_count = const 1 : u32
)";

class HsacoLocals : public testing::TestWithParam<std::tuple<const char*, LocalUse>> {
 protected:
  /// "<use>" in `loop` marks the position of the statements; %last is its last index.
  static std::string kernel(const std::string& parameters, std::string loop, const std::string& last) {
    std::string use = std::get<1>(GetParam()).statements;
    for (std::size_t at; (at = use.find("%last")) != std::string::npos;) use.replace(at, 5, last);
    const std::size_t at = loop.find("<use>");
    loop.replace(at, 5, use);
    return "weir-ir 1\nkernel \"locals\"\n" + parameters + "{" + constants + loop + "}\n";
  }

  static void expect_same(const std::string& text, const GpuArguments& arguments, bool aligned = true,
                          std::initializer_list<codegen::LaunchAssumptions> fact_sets = {no_facts,
                                                                                         usual_assumptions}) {
    for (const codegen::LaunchAssumptions& assumptions : fact_sets) {
      if (assumptions.aligned && !aligned) continue;
      EXPECT_EQ(difference(text, arguments, std::get<0>(GetParam()), assumptions, {1, 3}), "")
          << "assumptions " << assumptions.number() << "\n"
          << text;
    }
  }
};

/// Integers, whose sums are exact.
std::vector<float> whole_numbers(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = float(random() % 100);
  return values;
}

std::vector<std::uint8_t> letters(std::size_t count) {
  std::mt19937 random(3);
  std::vector<std::uint8_t> values(count);
  for (std::uint8_t& v : values) v = std::uint8_t(random());
  return values;
}

// proves R37
TEST_P(HsacoLocals, InPacketsAndTheirEdges) {
  for (const char* low : {"%zero", "%three"})
    expect_same(kernel("param @x: array<f32, 1>\nparam @y: array<f32, 1>\n",
                       std::string("  %n = extent @x, 0 : i64\n  parallel (%i) in (") + low + R"( to %n) {
    %v = load @x[%i] : f32<use>
    store @y[%i], %w
  }
)",
                       "%i"),
                GpuArguments().array("x", whole_numbers(2065)).array("y", whole_numbers(2065, 2)));
}

// proves R37
TEST_P(HsacoLocals, InPacketsOfRows) {
  const std::string text = kernel("param @x: array<f32, 2>\nparam @y: array<f32, 2>\n",
                                  R"(  %n = extent @x, 0 : i64
  %m = extent @x, 1 : i64
  parallel (%i, %j) in (%zero to %n, %one to %m) {
    %v = load @x[%i, %j] : f32<use>
    store @y[%i, %j], %w
  }
)",
                                  "%j");
  for (const std::int64_t columns : {36, 37})
    expect_same(text,
                GpuArguments()
                    .array("x", whole_numbers(std::size_t(70 * columns)), {70, columns})
                    .array("y", whole_numbers(std::size_t(70 * columns), 2), {70, columns}),
                columns % 4 == 0);
}

/// Adds the element below, so that a block covers a tile with two packets per thread.
const char* const tile_loop = R"(  %rows = extent @from, 0 : i64
  %n = sub %rows, %one : i64
  %m = extent @from, 1 : i64
  parallel (%i, %j) in (%zero to %n, %zero to %m) {
    %v = load @from[%i, %j] : f32<use>
    %below = add %i, %one : i64
    %u = load @from[%below, %j] : f32
    %r = add %w, %u : f32
    store @to[%i, %j], %r
  }
)";

// proves R37
TEST_P(HsacoLocals, InTiles) {
  const std::string text = kernel("param @from: array<f32, 2>\nparam @to: array<f32, 2>\n", tile_loop, "%j");
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{35, 64}, {150, 36}, {19, 37}}) {
    const auto count = std::size_t(rows * columns);
    expect_same(text,
                GpuArguments()
                    .array("from", whole_numbers(count), {rows, columns})
                    .array("to", whole_numbers(count, 2), {rows, columns}),
                columns % 4 == 0);
  }
}

// proves R37
TEST_P(HsacoLocals, InTilesOfThreeDimensions) {
  expect_same(kernel("param @from: array<f32, 3>\nparam @to: array<f32, 3>\n",
                     R"(  %p = extent @from, 0 : i64
  %rows = extent @from, 1 : i64
  %n = sub %rows, %one : i64
  %m = extent @from, 2 : i64
  parallel (%h, %i, %j) in (%zero to %p, %zero to %n, %one to %m) {
    %v = load @from[%h, %i, %j] : f32<use>
    %below = add %i, %one : i64
    %u = load @from[%h, %below, %j] : f32
    %r = add %w, %u : f32
    store @to[%h, %i, %j], %r
  }
)",
                     "%j"),
              GpuArguments()
                  .array("from", whole_numbers(2 * 75 * 44), {2, 75, 44})
                  .array("to", whole_numbers(2 * 75 * 44, 2), {2, 75, 44}));
}

/// Distinct arrays are staged; if two may be one array, neighbours share the loop.
// proves R37
TEST_P(HsacoLocals, InStagedAndSharedLoops) {
  expect_same(kernel("param @x: array<f32, 1>\nparam @b: array<f32, 1>\nparam @y: array<f32, 1>\n",
                     R"(  %n = extent @x, 0 : i64
  %m = extent @b, 0 : i64
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : f32
    local $all : f32
    for %k = %zero to %m step %one {
      %b = load @b[%k] : f32
      %v = add %x, %b : f32<use>
      %old = get $all : f32
      %new = add %old, %w : f32
      set $all, %new
    }
    %r = get $all : f32
    store @y[%i], %r
  }
)",
                     "%k"),
              GpuArguments()
                  .array("x", whole_numbers(301))
                  .array("b", whole_numbers(150, 2))
                  .array("y", whole_numbers(301, 3)),
              true, {no_facts, aligned_facts, distinct_facts, usual_assumptions});
}

/// The innermost loop reads @b at the index of the enclosing loop, so only @c is staged. Elements of 64 bytes
/// are staged 32 at a time.
// proves R37
TEST_P(HsacoLocals, InStagedLoopsInOneAnother) {
  expect_same(kernel("param @x: array<f32, 1>\nparam @b: array<vec<f32, 16>, 1>\nparam @c: array<vec<f32, "
                     "16>, 1>\nparam @y: "
                     "array<f32, 1>\n",
                     R"(  %n = extent @x, 0 : i64
  %m = extent @b, 0 : i64
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : f32
    local $all : f32
    for %k = %zero to %m step %one {
      %b = load @b[%k].3 : f32
      for %l = %two to %m step %one {
        %c = load @c[%l].5 : f32
        %v = add %b, %c : f32<use>
        for %o = %zero to %two step %one {
          %p = load @b[%l].3 : f32
          %q = mul %p, %w : f32
          %old = get $all : f32
          %new = add %old, %q : f32
          set $all, %new
        }
      }
    }
    %r = get $all : f32
    %s = sub %r, %x : f32
    store @y[%i], %s
  }
)",
                     "%l"),
              GpuArguments()
                  .array("x", whole_numbers(70))
                  .array("b", whole_numbers(16 * 35, 2), {35})
                  .array("c", whole_numbers(16 * 35, 3), {35})
                  .array("y", whole_numbers(70, 4)));
}

/// With few bins the loop has two lowerings: with counters of the block, and without for grids where counters
/// do not pay.
// proves R37
TEST_P(HsacoLocals, InCountingLoops) {
  const std::string text = kernel("param @x: array<u8, 1>\nparam @bins: array<u32, 1>\n",
                                  R"(  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : u8
    %v = cast %x : f32<use>
    %bin = cast %w : i64
    %old = atomic.add @bins[%bin], %one_count : u32
  }
)",
                                  "%i");
  for (const std::size_t bins : {1100u, 5000u})
    expect_same(text,
                GpuArguments().array("x", letters(5003)).array("bins", std::vector<std::uint32_t>(bins, 7)));
}

// proves R37
TEST_P(HsacoLocals, InCountingLoopsOverTiles) {
  const std::string text = kernel("param @x: array<u8, 2>\nparam @bins: array<u32, 1>\n",
                                  R"(  %rows = extent @x, 0 : i64
  %n = sub %rows, %one : i64
  %m = extent @x, 1 : i64
  parallel (%i, %j) in (%zero to %n, %zero to %m) {
    %x = load @x[%i, %j] : u8
    %v = cast %x : f32<use>
    %below = add %i, %one : i64
    %y = load @x[%below, %j] : u8
    %u = cast %y : f32
    %r = add %w, %u : f32
    %bin = cast %r : i64
    %old = atomic.add @bins[%bin], %one_count : u32
  }
)",
                                  "%j");
  for (const std::size_t bins : {1400u, 5000u})
    expect_same(text, GpuArguments()
                          .array("x", letters(35 * 96), {35, 96})
                          .array("bins", std::vector<std::uint32_t>(bins, 7)));
}

// proves R37
TEST_P(HsacoLocals, InReductions) {
  expect_same(kernel("param @x: array<f32, 1>\n",
                     R"(  %n = extent @x, 0 : i64
  %r = reduce.sum (%i) in (%one to %n) : f32 {
    %v = load @x[%i] : f32<use>
    yield %w
  }
)",
                     "%i"),
              GpuArguments().array("x", whole_numbers(2103)));
  expect_same(kernel("param @x: array<f32, 2>\n",
                     R"(  %n = extent @x, 0 : i64
  %m = extent @x, 1 : i64
  %r = reduce.sum (%i, %j) in (%zero to %n, %zero to %m) : f32 {
    %v = load @x[%i, %j] : f32<use>
    yield %w
  }
)",
                     "%j"),
              GpuArguments().array("x", whole_numbers(77 * 64), {77, 64}));
}

// proves R37
TEST_P(HsacoLocals, InSerialTasks) {
  expect_same(kernel("param @x: array<f32, 1>\n",
                     R"(  for %i = %zero to %two step %one {
    %v = load @x[%i] : f32<use>
    %j = add %i, %two : i64
    store @x[%j], %w
  }
)",
                     "%i"),
              GpuArguments().array("x", whole_numbers(4)));
}

INSTANTIATE_TEST_SUITE_P(All, HsacoLocals,
                         testing::Combine(testing::Values("gfx90a", "gfx1100"),
                                          testing::ValuesIn(local_uses)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace weir::test
