// SPDX-License-Identifier: Apache-2.0
// Execution of common GPU code: AMD machine code on the HIP simulator produces the same bits as host code, in
// waves of 64 and of 32, with and without assumptions, in grids of any size.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "gpu_harness.hpp"
#include "ptx_kernels.hpp"

namespace weir::test {
namespace {

constexpr codegen::LaunchAssumptions nothing{};
constexpr codegen::LaunchAssumptions everything{
    .no_alias = true, .index32 = true, .aligned = true, .device_local = true};

template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& v : values) {
    if constexpr (std::is_floating_point_v<T>)
      v = std::uniform_real_distribution<T>(-10, 10)(random);
    else
      v = static_cast<T>(random());
  }
  return values;
}

class Hsaco : public testing::TestWithParam<const char*> {
 protected:
  /// Tries the LaunchAssumptions that hold for the arguments, and none.
  void expect_same(const std::string& text, const GpuArguments& arguments, bool aligned = true) {
    codegen::LaunchAssumptions all = everything;
    all.aligned = aligned;
    for (const codegen::LaunchAssumptions& assumptions : {nothing, all})
      EXPECT_EQ(difference(text, arguments, GetParam(), assumptions, {1, 3}), "")
          << GetParam() << ", assumptions " << assumptions.number();
  }
};

TEST_P(Hsaco, RunsLoopsOfAnyLength) {
  for (const std::size_t n : {0u, 1u, 3u, 1037u, 5000u})
    expect_same(saxpy, GpuArguments()
                           .scalar("a", 2.5f)
                           .array("x", random_values<float>(n))
                           .array("y", random_values<float>(n, 2)));
}

/// Iterations from `low` to `n`, counted so that repeated and missing visits are detected.
std::string visits(int low) {
  return "weir-ir 1\nkernel \"visits\"\nparam @n: i64\nparam @x: array<u32, 1>\n{\n  %low = const " +
         std::to_string(low) +
         " : i64\n  %n = arg @n : i64\n  %one = const 1 : u32\n  parallel (%i) in (%low to %n) {\n"
         "    %v = load @x[%i] : u32\n    %w = add %v, %one : u32\n    store @x[%i], %w\n  }\n}\n";
}

// A block has 1024 iterations in packets of 4, and the grid strides over the loop.
TEST_P(Hsaco, VisitsEachIterationOnceWhereverPacketsAreCut) {
  for (const auto& [low, n] : std::initializer_list<std::pair<int, std::int64_t>>{{0, 0},
                                                                                  {0, 3},
                                                                                  {0, 4},
                                                                                  {0, 5001},
                                                                                  {1, 3},
                                                                                  {1, 4},
                                                                                  {3, 5},
                                                                                  {3, 1026},
                                                                                  {4, 8},
                                                                                  {6, 5001},
                                                                                  {7, 5000}})
    EXPECT_EQ(
        difference(visits(low), GpuArguments().scalar("n", n).array("x", random_values<std::uint32_t>(5001)),
                   GetParam(), everything, {3}),
        "")
        << GetParam() << ", from " << low << " to " << n;
}

TEST_P(Hsaco, RunsStencilsWithRowsOfAnyLength) {
  for (const auto& [rows, columns] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
           {11, 36}, {11, 37}, {11, 2}, {11, 260}, {35, 132}, {3, 64}}) {
    const auto count = std::size_t(rows * columns);
    expect_same(stencil,
                GpuArguments()
                    .array("from", random_values<float>(count), {rows, columns})
                    .array("to", random_values<float>(count, 2), {rows, columns}),
                columns % 4 == 0);
  }
}

TEST_P(Hsaco, CountsInFewBinsAndInMany) {
  for (const std::size_t bins : {256u, 5000u})
    expect_same(histogram, GpuArguments()
                               .array("x", random_values<std::uint8_t>(5003))
                               .array("bins", random_values<std::uint32_t>(bins)));
}

TEST_P(Hsaco, SharesLoopsBetweenNeighbours) {
  std::string portable(nbody);
  portable.erase(portable.find(" fast_math"), 10);
  for (const std::size_t n : {7u, 64u})
    expect_same(portable, GpuArguments()
                              .array("b", random_values<float>(4 * n), {std::int64_t(n)})
                              .array("out", random_values<float>(4 * n), {std::int64_t(n)})
                              .scalar("soft", 0.01f));
}

std::string reduction(const std::string& kind, const std::string& type, int rank, int low = 0) {
  const bool two = rank == 2;
  return "weir-ir 1\nkernel \"reduce\"\nparam @x: array<" + type + ", " + std::to_string(rank) +
         ">\n{\n  %zero = const " + std::to_string(low) + " : i64\n  %n = extent @x, 0 : i64\n" +
         (two ? "  %m = extent @x, 1 : i64\n" : "") + "  %r = reduce." + kind +
         (two ? " (%i, %j) in (%zero to %n, %zero to %m)" : " (%i) in (%zero to %n)") + " : " + type +
         " {\n    %v = load @x[" + (two ? "%i, %j" : "%i") + "] : " + type + "\n    yield %v\n  }\n}\n";
}

TEST_P(Hsaco, ReducesInTheOrderOfTheHost) {
  for (const std::size_t n : {0u, 1u, 2u, 3u, 64u, 1025u, 1026u, 1027u, 9000u})
    expect_same(reduction("sum", "f32", 1), GpuArguments().array("x", random_values<float>(n)));
  for (const int low : {1, 4, 5})
    expect_same(reduction("sum", "f32", 1, low), GpuArguments().array("x", random_values<float>(2103)));
  expect_same(reduction("sum", "f64", 1), GpuArguments().array("x", random_values<double>(2101)));
  expect_same(reduction("max", "i16", 1), GpuArguments().array("x", random_values<std::int16_t>(2103)));
  expect_same(reduction("sum", "i8", 1), GpuArguments().array("x", random_values<std::uint8_t>(2111)));
  expect_same(reduction("min", "u64", 1), GpuArguments().array("x", random_values<std::uint64_t>(2100)));
  expect_same(reduction("any", "bool", 1), GpuArguments().array("x", std::vector<std::uint8_t>(3000)));
}

TEST_P(Hsaco, ReducesSpacesOfTwoDimensions) {
  for (const auto& [rows, columns] : {std::pair{3, 1000}, {1000, 3}, {77, 64}})
    expect_same(reduction("sum", "f32", 2),
                GpuArguments().array("x", random_values<float>(std::size_t(rows * columns)), {rows, columns}),
                columns % 4 == 0);
}

TEST_P(Hsaco, WalksSpacesOfFourDimensions) {
  expect_same(R"(weir-ir 1
kernel "number"
param @x: array<i32, 4>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n0 = extent @x, 0 : i64
  %n1 = extent @x, 1 : i64
  %n2 = extent @x, 2 : i64
  %n3 = extent @x, 3 : i64
  %ten = const 10 : i64
  parallel (%i, %j, %k, %l) in (%one to %n0, %zero to %n1, %one to %n2, %zero to %n3) {
    %a = mul %i, %ten : i64
    %b = add %a, %j : i64
    %c = mul %b, %ten : i64
    %d = add %c, %k : i64
    %e = mul %d, %ten : i64
    %f = add %e, %l : i64
    %g = cast %f : i32
    store @x[%i, %j, %k, %l], %g
  }
}
)",
              GpuArguments().array("x", random_values<std::int32_t>(5 * 3 * 7 * 8), {5, 3, 7, 8}));
}

TEST_P(Hsaco, RecordsAFailedAssert) {
  expect_same(R"(weir-ir 1
kernel "asserts"
param @x: array<f32, 1>
{
  %zero = const 0 : i64
  %five = const 5 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %other = ne %i, %five : bool
    assert %other, "is not five"
    %v = cast %i : f32
    store @x[%i], %v
  }
}
)",
              GpuArguments().array("x", random_values<float>(700)));
}

TEST_P(Hsaco, RunsSerialTasksOnce) {
  expect_same(R"(weir-ir 1
kernel "serial"
param @x: array<i32, 1>
{
  %zero = const 0 : i64
  %v = load @x[%zero] : i32
  %one = const 1 : i32
  %w = add %v, %one : i32
  store @x[%zero], %w
}
)",
              GpuArguments().array("x", random_values<std::int32_t>(4)));
}

TEST_P(Hsaco, KeepsLocalArraysOfAnIterationApart) {
  expect_same(R"(weir-ir 1
kernel "table"
param @x: array<i32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %eight = const 8 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $t : i64[8]
    for %k = %zero to %eight step %one {
      %p = mul %k, %i : i64
      set $t[%k], %p
    }
    %at = rem %i, %eight : i64
    %v = get $t[%at] : i64
    %w = cast %v : i32
    store @x[%i], %w
  }
}
)",
              GpuArguments().array("x", random_values<std::int32_t>(300)));
}

TEST_P(Hsaco, AddsFloatsInMemoryWithoutLosingSmallOnes) {
  // All updates of an element add the same value, so every sum is independent of the order.
  constexpr float least = 0x1p-149f, small = 0x1p-126f, edge = 0x1p-101f;
  const std::vector<float> values = {0,        -0.0f,     least,    -least,  small - least, -small,
                                     small,    edge,      edge / 2, 1.5f,    -1.5f,         0x1.fffffep127f,
                                     INFINITY, -INFINITY, 3e-39f,   -3e-39f, -edge,         1e10f};
  std::vector<std::int64_t> places;
  std::vector<float> added, sums;
  std::vector<double> doubles;
  for (const float a : values)
    for (const float b : values) {
      if (std::isinf(a) && a == -b) continue;  // the bits of NaN are unspecified
      places.push_back(std::int64_t(places.size()));
      sums.push_back(a);
      added.push_back(b);
      doubles.push_back(a);
    }
  for (double& d : doubles)
    if (std::isinf(d)) d = 0;
  const GpuArguments arguments =
      GpuArguments().array("i", places).array("v", added).array("s", sums).array("d", doubles);
  expect_same(float_sums, arguments);
  // In fast mode subnormal sums may be lost, and are lost if the instruction flushes them to 0.
  std::string fast(float_sums);
  fast.replace(fast.find("\"float_sums\""), 12, "\"float_sums\" fast_math");
  if (std::string_view(GetParam()) == "gfx90a") {
    EXPECT_NE(difference(fast, arguments, GetParam(), everything, {1}), "");
  }
}

// LLVM selects the inner difference, and the inner sum, as a negation of x.
TEST_P(Hsaco, SubtractsFromZeroWithTheRightSign) {
  constexpr std::string_view text = R"(weir-ir 1
kernel "from_zero"
param @x: array<f32, 1>
param @y: array<f32, 1>
param @z: array<f32, 1>
{
  %low = const 0 : i64
  %n = extent @x, 0 : i64
  %zero = const 0.0 : f32
  parallel (%i) in (%low to %n) {
    %x = load @x[%i] : f32
    %y = load @y[%i] : f32
    %a = sub %zero, %x : f32
    %b = sub %a, %y : f32
    store @y[%i], %b
    %c = neg %x : f32
    %d = add %c, %zero : f32
    %e = sub %d, %y : f32
    store @z[%i], %e
  }
}
)";
  for (const std::string_view type : {"f32", "f64"}) {
    std::string typed(text);
    for (std::size_t at = 0; (at = typed.find("f32", at)) != typed.npos; at += 3) typed.replace(at, 3, type);
    const auto arguments = [](auto zero) {
      const std::vector x{zero, zero, -zero, -zero}, y{zero, -zero, zero, -zero};
      return GpuArguments().array("x", x).array("y", y).array("z", y);
    };
    expect_same(typed, type == "f32" ? arguments(0.0f) : arguments(0.0));
  }
}

// LLVM selects a minimum of a maximum as the median of three, which does not order zeros, or as an operation
// whose result is clamped, which keeps -0. The median of three with a NaN is their minimum.
TEST_P(Hsaco, ClampsNansAndZerosAsMinimaAndMaxima) {
  constexpr std::string_view head = R"(weir-ir 1
kernel "clamps"
param @x: array<f32, 1>
param @y: array<f32, 1>
param @constants: array<f32, 2>
param @variables: array<f32, 2>
{
  %low = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%low to %n) {
    %x = load @x[%i] : f32
    %y = load @y[%i] : f32
)";
  std::string body;
  // Each `#` in the statements becomes the column of `array` that receives %r#.
  const auto store = [&body](const std::string& array, int column, std::string statements) {
    statements += "%k# = const " + std::to_string(column) + " : i64\nstore @" + array + "[%i, %k#], %r#\n";
    for (std::size_t at; (at = statements.find('#')) != statements.npos;)
      statements.replace(at, 1, "_" + array + "_" + std::to_string(column));
    body += statements;
  };
  const char* const bounds[] = {"0.0", "-0.0", "1.0", "-1.0", "2.0", "-inf", "inf"};
  int constants = 0, variables = 0;
  for (const std::string inner : {"min", "max"}) {
    const std::string outer = inner == "min" ? "max" : "min";
    for (const std::string a : bounds) {
      const std::string first = "%a# = const " + a + " : f32\n";
      for (const std::string b : bounds)
        store("constants", constants++,
              first + "%b# = const " + b + " : f32\n%t# = " + inner + " %x, %a# : f32\n%r# = " + outer +
                  " %t#, %b# : f32\n");
      store("variables", variables++,
            first + "%b# = " + outer + " %y, %a# : f32\n%c# = " + inner + " %y, %a# : f32\n%t# = " + inner +
                " %x, %b# : f32\n%r# = " + outer + " %t#, %c# : f32\n");
    }
  }
  const std::string text = std::string(head) + body + "  }\n}\n";
  for (const std::string_view type : {"f32", "f64"}) {
    std::string typed(text);
    for (std::size_t at = 0; (at = typed.find("f32", at)) != typed.npos; at += 3) typed.replace(at, 3, type);
    const auto arguments = [](auto zero) {
      using T = decltype(zero);
      const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
      const std::vector<T> values{zero, -zero, T(0.5),   T(-0.5),   T(1), T(-1),
                                  T(3), T(-3), infinity, -infinity, nan};
      std::vector<T> x, y;
      for (const T a : values)
        for (const T b : values) x.push_back(a), y.push_back(b);
      const std::int64_t n = std::int64_t(x.size());
      return GpuArguments()
          .array("x", x)
          .array("y", y)
          .array("constants", std::vector<T>(x.size() * 98), {n, 98})
          .array("variables", std::vector<T>(x.size() * 14), {n, 14});
    };
    expect_same(typed, type == "f32" ? arguments(0.0f) : arguments(0.0), false);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Hsaco, testing::Values("gfx90a", "gfx942", "gfx1100"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weir::test
