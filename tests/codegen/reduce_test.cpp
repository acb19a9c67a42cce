// SPDX-License-Identifier: Apache-2.0
// Reductions add in the order of task.hpp for every grid, so their bits never change.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "harness.hpp"

namespace weir::test {
namespace {

std::string kernel_of(const std::string& kind, const std::string& type, int rank = 1) {
  const std::string indices = rank == 1 ? "%i" : rank == 2 ? "%i, %j" : "%i, %j, %k";
  const std::string bounds = rank == 1   ? "%zero to %n0"
                             : rank == 2 ? "%zero to %n0, %zero to %n1"
                                         : "%zero to %n0, %zero to %n1, %zero to %n2";
  std::string text = "weir-ir 1\nkernel \"reduce\"\nparam @x: array<" + type + ", " + std::to_string(rank) +
                     ">\n{\n  %zero = const 0 : i64\n";
  for (int d = 0; d < rank; ++d)
    text += "  %n" + std::to_string(d) + " = extent @x, " + std::to_string(d) + " : i64\n";
  return text + "  %r = reduce." + kind + " (" + indices + ") in (" + bounds + ") : " + type +
         " {\n    %v = load @x[" + indices + "] : " + type + "\n    yield %v\n  }\n}\n";
}

template <class T, class Combine>
T in_lanes(std::size_t count, const std::vector<T>& x, std::size_t begin, std::size_t end, T identity,
           Combine combine) {
  std::vector<T> lanes(count, identity);
  for (std::size_t i = begin; i < end; ++i) {
    T& lane = lanes[(i - begin) % count];
    lane = combine(lane, x[i]);
  }
  for (std::size_t half = count / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lanes[l] = combine(lanes[l], lanes[l + half]);
  return lanes[0];
}

template <class T, class Combine>
T in_order(const std::vector<T>& x, T identity, Combine combine) {
  const std::size_t chunk = ir::reduce_chunk(x.size());
  std::vector<T> partials;
  for (std::size_t begin = 0; begin < x.size(); begin += chunk)
    partials.push_back(
        in_lanes(ir::reduce_lanes, x, begin, std::min(x.size(), begin + chunk), identity, combine));
  return in_lanes(ir::reduce_final_lanes, partials, 0, partials.size(), identity, combine);
}

TEST(Reduce, FloatSumsHaveTheBitsOfTheDocumentedOrder) {
  Code code(kernel_of("sum", "f32"));
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-1, 1);
  // After long arrays, the results of their chunks are still in memory and must not count.
  for (std::size_t n : {0u, 1u, 63u, 64u, 65u, 1000u, 1024u, 1025u, 70000u, 5000001u, 1048577u, 1048576u,
                        1047552u, 16385u, 16384u, 15360u, 2049u, 1u, 0u}) {
    std::vector<float> x(n);
    for (float& v : x) v = std::ldexp(values(random), int(random() % 40) - 20);
    const float expected = in_order(x, 0.0f, [](float a, float b) { return a + b; });
    code.array("x", x);
    for (std::uint32_t grid : {1u, 3u, 64u}) {
      code.run(grid, grid == 64 ? 5 : 1);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(code.result<float>()), std::bit_cast<std::uint32_t>(expected))
          << n << " elements, grid " << grid << ": " << code.result<float>() << " and " << expected;
    }
  }
}

TEST(Reduce, RowsOfAnyLengthCountInRowMajorOrder) {
  std::mt19937 random(11);
  for (int rank : {2, 3}) {
    Code code(kernel_of("sum", "f64", rank));
    for (const auto& extents : std::vector<std::vector<std::int64_t>>{
             {40, 3, 50}, {3, 700, 11}, {1, 1, 9}, {200, 200, 3}, {5, 0, 2}}) {
      std::vector<std::int64_t> shape(extents.begin(), extents.begin() + rank);
      std::size_t n = 1;
      for (std::int64_t e : shape) n *= std::size_t(e);
      std::vector<double> x(n);
      for (double& v : x) v = double(random()) * 1e-9;
      code.array("x", x.data(), shape).run(7, 2);
      EXPECT_EQ(code.result<double>(), in_order(x, 0.0, [](double a, double b) { return a + b; }))
          << shape[0] << " rows";
    }
  }
}

TEST(Reduce, MinimumAndMaximumIgnoreNan) {
  std::vector<float> x(3000, 2.5f);
  x[17] = std::numeric_limits<float>::quiet_NaN();
  x[2000] = -3;
  x[2999] = 9;
  Code least(kernel_of("min", "f32")), greatest(kernel_of("max", "f32"));
  least.array("x", x).run(2, 1);
  greatest.array("x", x).run(2, 1);
  EXPECT_EQ(least.result<float>(), -3);
  EXPECT_EQ(greatest.result<float>(), 9);
}

TEST(Reduce, OfNothingIsTheIdentity) {
  std::vector<std::int32_t> none;
  const auto of_none = [&](const std::string& kind) {
    Code code(kernel_of(kind, "i32"));
    code.array("x", none).run(4, 3);
    return code.result<std::int32_t>();
  };
  EXPECT_EQ(of_none("sum"), 0);
  EXPECT_EQ(of_none("min"), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(of_none("max"), std::numeric_limits<std::int32_t>::min());
  std::vector<float> no_floats;
  Code code(kernel_of("max", "f32"));
  code.array("x", no_floats).run();
  EXPECT_EQ(code.result<float>(), -std::numeric_limits<float>::infinity());
}

template <class T>
class ReduceOf : public testing::Test {};
using ReduceTypes = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                   std::uint16_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(ReduceOf, ReduceTypes);

TYPED_TEST(ReduceOf, EveryTypeAndKind) {
  using T = TypeParam;
  const std::string type(to_string(element_type<T>.scalar));
  std::vector<T> x(2500);
  std::mt19937 random(3);
  for (T& v : x) v = T(random() % 100);
  const auto reduce = [&](const std::string& kind) {
    Code code(kernel_of(kind, type));
    code.array("x", x).run(3, 1);
    return code.result<T>();
  };
  T sum = 0;
  for (T v : x) sum = T(sum + v);
  EXPECT_EQ(reduce("sum"), sum);
  EXPECT_EQ(reduce("min"), *std::min_element(x.begin(), x.end()));
  EXPECT_EQ(reduce("max"), *std::max_element(x.begin(), x.end()));
}

// LLVM may compute anything of a sum that wraps although a flag says that it does not.
TEST(Reduce, SumsOfIntegersMayWrap) {
  for (const char* type : {"i32", "u32"}) {
    const std::string text = emit(kernel_of("sum", type), "llvm");
    EXPECT_NE(text.find(" = add i32 "), text.npos) << text;
    EXPECT_EQ(text.find("w i32 "), text.npos) << text;
  }
}

TEST(Reduce, AnyAndAll) {
  Code any(kernel_of("any", "bool")), all(kernel_of("all", "bool"));
  std::vector<std::uint8_t> x(5000, 0);
  any.array("x", x).run(3, 1);
  EXPECT_FALSE(any.result<bool>());
  x[4321] = 1;
  any.array("x", x).run(3, 1);
  EXPECT_TRUE(any.result<bool>());
  std::fill(x.begin(), x.end(), 1);
  all.array("x", x).run(3, 1);
  EXPECT_TRUE(all.result<bool>());
  x[77] = 0;
  all.array("x", x).run(3, 1);
  EXPECT_FALSE(all.result<bool>());
}

TEST(Reduce, IterationsThatEndEarlyAddNothing) {
  Code code(R"(weir-ir 1
kernel "sum of positives"
param @x: array<f32, 1>
{
  %zero = const 0 : i64
  %fzero = const 0 : f32
  %n = extent @x, 0 : i64
  %r = reduce.sum (%i) in (%zero to %n) : f32 {
    %v = load @x[%i] : f32
    %negative = lt %v, %fzero : bool
    if %negative {
      continue
    }
    yield %v
  }
}
)");
  std::vector<float> x(3000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 ? -100.0f : 1.0f;
  code.array("x", x).run(2, 1);
  EXPECT_EQ(code.result<float>(), 2000.0f);
}

}  // namespace
}  // namespace weir::test
