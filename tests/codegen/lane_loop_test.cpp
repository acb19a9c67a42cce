// SPDX-License-Identifier: Apache-2.0
// Loops inside iterations: iterations run in parallel vector lanes, with the results of sequential execution.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "harness.hpp"

namespace weir::test {
namespace {

constexpr const char* forces = R"(weir-ir 1
kernel "forces"
param @a: array<f32, 2>
param @x: array<f32, 1>
param @m: array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = extent @x, 0 : i64
  %count = extent @a, 0 : i64
  %eps = const 0.01 : f32
  parallel (%i) in (%zero to %count) {
    local $f : f32
    local $p : f32
    %xi = load @x[%i] : f32
    for %j = %zero to %n step %one {
      %xj = load @x[%j] : f32
      %d = sub %xj, %xi : f32
      %q = mul %d, %d : f32
      %r2 = add %q, %eps : f32
      %r = math.sqrt %r2 : f32
      %m = load @m[%j] : f32
      %g = div %m, %r : f32
      %p0 = get $p : f32
      %p1 = add %p0, %g : f32
      set $p, %p1
      %u = mul %g, %d : f32
      %f0 = get $f : f32
      %f1 = add %f0, %u : f32
      set $f, %f1
    }
    %f = get $f : f32
    store @a[%i, %zero], %f
    %p = get $p : f32
    store @a[%i, %one], %p
  }
}
)";

TEST(LaneLoop, SumsOverAllParticlesHaveTheBitsOfOneByOne) {
  Code code(forces);
  for (std::size_t n : {1u, 15u, 16u, 100u, 257u}) {
    std::vector<float> x(n), m(n), a(2 * n);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(float(i)), m[i] = 1 + 0.1f * float(i % 7);
    code.array("a", a.data(), {std::int64_t(n), 2}).array("x", x).array("m", m).run(3, 1);
    for (std::size_t i = 0; i < n; ++i) {
      float f = 0, p = 0;
      for (std::size_t j = 0; j < n; ++j) {
        const float d = x[j] - x[i];
        const float square = d * d;
        const float g = m[j] / std::sqrt(square + 0.01f);
        p = p + g;
        const float u = g * d;
        f = f + u;
      }
      ASSERT_EQ(a[2 * i], f) << i << " of " << n;
      ASSERT_EQ(a[2 * i + 1], p) << i << " of " << n;
    }
  }
}

TEST(LaneLoop, ReadsSharedPlacesOnceAndConsecutiveOnesAsVectors) {
  const std::string text = emit(forces, "llvm-opt");
  EXPECT_THAT(text, testing::HasSubstr("x float> @llvm.sqrt.v"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("llvm.masked.gather")));
}

constexpr const char* product = R"(weir-ir 1
kernel "matrix product"
param @c: array<f64, 2>
param @a: array<f64, 2>
param @b: array<f64, 2>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %h = extent @c, 0 : i64
  %w = extent @c, 1 : i64
  %inner = extent @b, 0 : i64
  parallel (%i, %j) in (%zero to %h, %zero to %w) {
    local $s : f64
    for %k = %zero to %inner step %one {
      %a = load @a[%i, %k] : f64
      %b = load @b[%k, %j] : f64
      %p = mul %a, %b : f64
      %s0 = get $s : f64
      %s1 = add %s0, %p : f64
      set $s, %s1
    }
    %s = get $s : f64
    store @c[%i, %j], %s
  }
}
)";

TEST(LaneLoop, MatrixProductsOfOddShapes) {
  Code code(product);
  for (auto [h, w, k] :
       std::vector<std::array<std::int64_t, 3>>{{3, 37, 11}, {1, 8, 1}, {5, 16, 0}, {17, 5, 9}}) {
    std::vector<double> a(std::size_t(h * k)), b(std::size_t(k * w)), c(std::size_t(h * w), -1);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::cos(double(i));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(double(i));
    code.array("c", c.data(), {h, w}).array("a", a.data(), {h, k}).array("b", b.data(), {k, w}).run(4, 3);
    for (std::int64_t i = 0; i < h; ++i)
      for (std::int64_t j = 0; j < w; ++j) {
        double s = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double p = a[std::size_t(i * k + l)] * b[std::size_t(l * w + j)];
          s = s + p;
        }
        ASSERT_EQ(c[std::size_t(i * w + j)], s) << i << ", " << j;
      }
  }
}

TEST(LaneLoop, InnerBoundsThatDifferBetweenIterationsStayRight) {
  Code code(R"(weir-ir 1
kernel "triangle"
param @r: array<i64, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = extent @r, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $s : i64
    for %j = %zero to %i step %one {
      %s0 = get $s : i64
      %s1 = add %s0, %j : i64
      set $s, %s1
    }
    %s = get $s : i64
    store @r[%i], %s
  }
}
)");
  std::vector<std::int64_t> r(100);
  code.array("r", r).run(2, 1);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(r[std::size_t(i)], i * (i - 1) / 2);
}

// Later passes of the inner loop read its earlier writes: order within an iteration is kept.
TEST(LaneLoop, StoresInInnerLoopsKeepTheOrderWithinAnIteration) {
  Code code(R"(weir-ir 1
kernel "prefix by columns"
param @x: array<f32, 2>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %h = extent @x, 0 : i64
  %w = extent @x, 1 : i64
  parallel (%j) in (%zero to %w) {
    for %i = %one to %h step %one {
      %before = sub %i, %one : i64
      %a = load @x[%before, %j] : f32
      %b = load @x[%i, %j] : f32
      %s = add %a, %b : f32
      store @x[%i, %j], %s
    }
  }
}
)");
  const std::size_t h = 9, w = 45;
  std::vector<float> x(h * w, 1.0f);
  code.array("x", x.data(), {std::int64_t(h), std::int64_t(w)}).run(2, 1);
  for (std::size_t i = 0; i < h; ++i)
    for (std::size_t j = 0; j < w; ++j) ASSERT_EQ(x[i * w + j], float(i + 1)) << i << ", " << j;
}

// LLVM's loop vectoriser reduces a vector of maxima with an operation that does not order zeros.
// proves R36
TEST(LaneLoop, MaximaOfOneRowOrderZerosInWhateverLaneTheyAre) {
  for (const char* op : {"max", "min"}) {
    std::string text = R"(weir-ir 1
kernel "extreme"
param @x: array<f32, 1>
param @r: array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %one) {
    local $m : f32
    %first = load @x[%zero] : f32
    set $m, %first
    for %j = %zero to %n step %one {
      %a = load @x[%j] : f32
      %m = get $m : f32
      %q = OP %m, %a : f32
      set $m, %q
    }
    %f = get $m : f32
    store @r[%i], %f
  }
}
)";
    text.replace(text.find("OP"), 2, op);
    const bool larger = op == std::string("max");
    const float other = larger ? -0.0f : 0.0f;
    Code code(text);
    for (const std::size_t n : {5u, 32u, 64u, 71u})
      for (std::size_t at = 0; at < n; ++at) {
        std::vector<float> x(n, other), r(1, 7.0f);
        x[at] = -other;
        x[(at + 1) % n] = std::numeric_limits<float>::quiet_NaN();
        code.array("x", x).array("r", r).run();
        EXPECT_EQ(r[0], 0.0f);
        EXPECT_EQ(std::signbit(r[0]), !larger) << op << " of " << n << ", with the other zero at " << at;
      }
  }
}

}  // namespace
}  // namespace weir::test
