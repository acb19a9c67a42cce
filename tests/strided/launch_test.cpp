// SPDX-License-Identifier: Apache-2.0
// Kernels that take strided views.
#include <weir/algorithms.hpp>
#include <weir/dlpack.hpp>

#include "run_apart.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const auto& transposed_product() {
  static const Kernel kernel("product", [](View<const float, 2> a, View<const float, 2> b, View<float, 2> c) {
    range_for(c.extent(0), c.extent(1), [&](Index i, Index j) {
      Var<float> sum = 0.0f;
      for_(0, a.extent(1), [&](Index k) { sum += a(i, k) * b(k, j); });
      c(i, j) = sum;
    });
  });
  return kernel;
}

TEST_F(Strided, KernelsReadAndWriteThem) {
  constexpr std::int64_t n = 17, m = 23, k = 9;
  const auto a = tested().array<float>(stream, k, n), b = tested().array<float>(stream, k, 2 * m),
             c = tested().array<float>(stream, n, m + 3), c_plain = tested().array<float>(stream, n, m);
  a.copy_from(stream, counting<float>(a.size()));
  b.copy_from(stream, counting<float>(b.size()));
  c.fill(stream, -1.0f);
  transposed_product()(stream, a.permuted({1, 0}), b.slice(1, 1, 2 * m, 2), c.slice(1, 2, m + 2));
  const auto a_plain = tested().array<float>(stream, n, k), b_plain = tested().array<float>(stream, k, m);
  a_plain.copy_from(stream, a.permuted({1, 0}));
  b_plain.copy_from(stream, b.slice(1, 1, 2 * m, 2));
  transposed_product()(stream, a_plain, b_plain, c_plain);
  EXPECT_EQ(c.slice(1, 2, m + 2).to_host(stream), c_plain.to_host(stream));
  EXPECT_THAT(c.slice(1, 0, 2).to_host(stream), Each(-1.0f));
  EXPECT_THAT(c.slice(1, m + 2, m + 3).to_host(stream), Each(-1.0f));
}

TEST_F(Strided, ElementsKeepTheirComponents) {
  const Kernel kernel("components", [](View<Vec<float, 3>> x, View<Mat<float, 2, 2>> m) {
    range_for(x.size(), [&](Index i) {
      x[i][1] = 5.0f;
      atomic_add(x[i][2], cast<float>(i));
      m[i] = m[i] * 2.0f;
    });
  });
  const auto x = tested().array<Vec<float, 3>>(stream, 8);
  const auto m = tested().array<Mat<float, 2, 2>>(stream, 12);
  x.fill(stream, Vec<float, 3>{1, 2, 3});
  m.fill(stream, Mat<float, 2, 2>{1, 2, 3, 4});
  kernel(stream, x.slice(0, 1, 8, 2), m.slice(0, 0, 12, 3));
  const auto xs = x.to_host(stream);
  const auto ms = m.to_host(stream);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(xs[i][0], 1) << i;
    EXPECT_EQ(xs[i][1], i % 2 ? 5 : 2) << i;
    EXPECT_EQ(xs[i][2], i % 2 ? 3 + static_cast<float>(i / 2) : 3) << i;
  }
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(ms[i](1, 0), i % 3 ? 3 : 6) << i;
}

TEST_F(Strided, OneKernelServesBothKindsInTurn) {
  const Kernel add("add", [](View<std::int32_t> x, Value<std::int32_t> by) {
    range_for(x.size(), [&](Index i) { x[i] += by; });
  });
  const auto x = tested().array<std::int32_t>(stream, 10);
  x.fill_zero(stream);
  for (int round = 0; round < 3; ++round) {
    add(stream, x, 1);
    add(stream, x.slice(0, 0, 10, 2), 10);
    add(stream, x.slice(0, 1, 10, 3), 100);
  }
  EXPECT_THAT(x.to_host(stream), ElementsAre(33, 303, 33, 3, 333, 3, 33, 303, 33, 3));
}

TEST_F(Strided, FailuresNameTheDimension) {
  const Kernel kernel(
      "outside",
      [](View<float, 2> x, Index row) { range_for(x.extent(0), [&](Index i) { x(row, i) = 1.0f; }); },
      {.check_bounds = true, .parameter_names = {"x", "row"}});
  const auto x = tested().array<float>(stream, 4, 9);
  kernel(stream, x.slice(1, 1, 8), std::int64_t{4});
  EXPECT_THAT(thrown_by([&] { stream.synchronize(); }).what(),
              AllOf(HasSubstr("kernel 'outside'"), HasSubstr("the first dimension of array 'x'"),
                    HasSubstr("launch_test.cpp")));
}

TEST_F(Strided, DebuggedLaunchesTakeThem) {
  const Kernel kernel("debugged",
                      [](View<std::int32_t> x, View<const std::int32_t> y) {
                        range_for(x.size(), [&](Index i) { x[i] = y[i + 1]; });
                      },
                      {.debug = true});
  const auto x = tested().array<std::int32_t>(stream, 10), y = tested().array<std::int32_t>(stream, 12);
  x.fill(stream, -1);
  y.copy_from(stream, counting(12));
  kernel(stream, x.slice(0, 0, 10, 3), y.slice(0, 1, 12, 2));
  EXPECT_THAT(x.to_host(stream), ElementsAre(3, -1, -1, 5, -1, -1, 7, -1, -1, 9));
  EXPECT_THAT(thrown_by([&] { kernel(stream, x.slice(0, 0, 10, 3), y.slice(0, 1, 8, 2)); }).what(),
              HasSubstr("the first dimension"));
}

TEST_F(Strided, FaultsOfDebuggedLaunchesNameTheElement) {
  const Kernel races("races",
                     [](View<std::int32_t, 2> x) {
                       range_for(x.extent(1), [&](Index i) { x(2, i / 2) = cast<std::int32_t>(i); });
                     },
                     {.debug = true, .parameter_names = {"x"}});
  const auto x = matrix(6, 8);
  EXPECT_THAT(thrown_by([&] {
                races(stream, x.slice(1, 1, 8, 2).permuted({1, 0}).slice(1, 3, 6));
              }).what(),
              HasSubstr("race on x(2, 0)"));
  const Kernel reads("reads",
                     [](View<const float, 2> from, View<float> to) {
                       range_for(to.size(), [&](Index i) { to[i] = from(i, 1); });
                     },
                     {.debug = true, .parameter_names = {"from", "to"}});
  const auto from = tested().array<float>(stream, 4, 8);
  const auto to = tested().array<float>(stream, 3);
  from.slice(0, 2).fill(stream, 1.0f);
  EXPECT_THAT(thrown_by([&] { reads(stream, from.slice(1, 0, 8, 3), to); }).what(),
              HasSubstr("element from(2, 1) is read before anything has written it"));
}

TEST_F(Strided, GraphsRecordAndUpdateThem) {
  const Kernel add("add", [](View<std::int32_t> x, Value<std::int32_t> by) {
    range_for(x.size(), [&](Index i) { x[i] += by; });
  });
  const auto x = tested().array<std::int32_t>(stream, 9), y = tested().array<std::int32_t>(stream, 4);
  x.fill_zero(stream);
  y.fill_zero(stream);
  GraphBuilder builder(tested());
  const auto strided = builder.launch(add, x.slice(0, 0, 9, 2), 1);
  const auto plain = builder.launch(add, y, 1);
  Graph graph = builder.build();
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), ElementsAre(1, 0, 1, 0, 1, 0, 1, 0, 1));
  graph.update(strided, x.slice(0, 1, 9, 4), 10);
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), ElementsAre(1, 10, 1, 0, 1, 10, 1, 0, 1));
  graph.update(strided, y, 100);  // contiguous arrays fit, too
  graph.launch(stream);
  EXPECT_THAT(y.to_host(stream), Each(103));
  const Error refused = thrown_by([&] { graph.update(plain, x.slice(0, 0, 9, 2), 1); });
  EXPECT_THAT(refused.what(),
              AllOf(HasSubstr("argument 1"), HasSubstr("contiguous"), HasSubstr("record the call again")));
}

struct Body {
  Vec<float, 2> position;
  float mass;
};

TEST_F(Strided, StructArraysOfAnyLayoutStandBesideThem) {
  const Kernel kernel("bodies", [](View<Body> bodies, View<float> out) {
    range_for(bodies.size(),
              [&](Index i) { out[i] = bodies[i][&Body::mass] * bodies[i][&Body::position][1]; });
  });
  std::vector<Body> host(6);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = {{1, static_cast<float>(i)}, 2};
  for (const Layout& layout : {Layout::struct_of_arrays(), Layout::array_of_structs(), Layout::blocks(4)}) {
    const StructArray<Body> bodies(stream, 6, layout);
    bodies.copy_from(stream, host);
    const auto out = tested().array<float>(stream, 12);
    out.fill(stream, -1.0f);
    kernel(stream, bodies, out.slice(0, 0, 12, 2));
    EXPECT_THAT(out.to_host(stream), ElementsAre(0, -1, 2, -1, 4, -1, 6, -1, 8, -1, 10, -1));
  }
}

TEST_F(Strided, KernelsThatReturnValuesTakeThem) {
  const Kernel total("total", [](View<const std::int32_t, 2> x) {
    return reduce_sum(x.extent(0), x.extent(1), [&](Index i, Index j) { return x(i, j); });
  });
  const auto x = matrix(5, 6);
  EXPECT_EQ(total(stream, x.slice(1, 0, 6, 5)).get(), 0 + 5 + 6 + 11 + 12 + 17 + 18 + 23 + 24 + 29);
}

TEST_F(Strided, AlgorithmsOfKernelsTakeOtherArrays) {
  const Kernel kernel("sorts",
                      [](View<std::int32_t> x, View<std::int32_t> y) {
                        range_for(x.size(), [&](Index i) { x[i] = y[i] * -1; });
                        sort(x);
                      },
                      {.parameter_names = {"x", "y"}});
  const auto x = tested().array<std::int32_t>(stream, 4), y = tested().array<std::int32_t>(stream, 8);
  y.copy_from(stream, counting(8));
  kernel(stream, x, y.slice(0, 0, 8, 2));
  EXPECT_THAT(x.to_host(stream), ElementsAre(-6, -4, -2, 0));
  const Error refused = thrown_by([&] { kernel(stream, y.slice(0, 0, 8, 2), x); });
  EXPECT_EQ(refused.code(), ErrorCode::unsupported);
  EXPECT_THAT(refused.what(), AllOf(HasSubstr("'x'"), HasSubstr("algorithm"), HasSubstr("copy_from")));
}

TEST_F(Strided, BlocksThatMayShareElementsAreRefused) {
  const Kernel kernel("blocks", [](View<float> a, View<float> b) {
    stream_parallel([&] { range_for(a.size(), [&](Index i) { a[i] = 1.0f; }); });
    stream_parallel([&] { range_for(b.size(), [&](Index i) { b[i] = 2.0f; }); });
  });
  const auto x = tested().array<float>(stream, 20);
  kernel(stream, x.slice(0, 0, 10).slice(0, 0, 10, 2), x.slice(0, 10, 20).slice(0, 0, 10, 2));
  EXPECT_EQ(x.slice(0, 2, 3).to_host(stream).front(), 1.0f);
  EXPECT_THAT(thrown_by([&] { kernel(stream, x.slice(0, 0, 19, 2), x.slice(0, 1, 20, 2)); }).what(),
              HasSubstr("share memory"));
}

TEST_F(Strided, BlocksOfOneStridedArrayAreRefusedWithTheReason) {
  const Kernel kernel("rows",
                      [](View<float, 2> x) {
                        stream_parallel([&] { range_for(x.extent(1), [&](Index i) { x(0, i) = 1.0f; }); });
                        stream_parallel([&] { range_for(x.extent(1), [&](Index i) { x(1, i) = 2.0f; }); });
                      },
                      {.parameter_names = {"x"}});
  const auto x = tested().array<float>(stream, 4, 4);
  kernel(stream, x);
  const Error refused = thrown_by([&] { kernel(stream, x.slice(1, 0, 4, 2)); });
  EXPECT_EQ(refused.code(), ErrorCode::unsupported);
  EXPECT_THAT(refused.what(),
              AllOf(HasSubstr("kernel 'rows', argument 1 ('x')"), HasSubstr("contiguous arrays")));
}

TEST_F(Strided, DISABLED_ReadsElementsThatNothingHasWritten) {
  const auto x = tested().array<float>(stream, 4, 8);
  x.slice(1, 0, 2).fill(stream, 1.0f);
  EXPECT_EQ(x.slice(1, 0, 4).to_host(stream)[1], 1.0f);
  const Kernel add("add", [](View<float, 2> y) {
    range_for(y.extent(0), y.extent(1), [&](Index i, Index j) { y(i, j) += 1.0f; });
  });
  add(stream, x.slice(1, 0, 2));
  EXPECT_THAT(thrown_by([&] { add(stream, x.slice(1, 0, 4)); }).what(),
              HasSubstr("before anything has written"));
}

// Copies take such elements, also where the program's own kernels are debugged.
TEST_F(Strided, CopiesAreNotDebugged) {
  WEIR_NEEDS_SHELL();
  EXPECT_THAT(run_apart("WEIR_DEBUG='*'", "Strided.DISABLED_ReadsElementsThatNothingHasWritten"),
              HasSubstr("[  PASSED  ] 1 test"));
}

TEST_F(Strided, ArgumentsAreChecked) {
  const Kernel kernel("checked", [](View<float, 2> x, Value<float> a) {
    range_for(x.extent(0), [&](Index i) { x(i, 0) = a; });
  });
  const auto x = tested().array<double>(stream, 4, 4);
  const AnyArrayView wrong = x.slice(1, 0, 2), dead = tested().array<float>(stream, 4, 4).slice(1, 0, 2);
  EXPECT_THAT(thrown_by([&] { kernel(stream, wrong, 1.0f); }).what(), HasSubstr("array of f64"));
  EXPECT_THAT(thrown_by([&] { kernel(stream, dead, 1.0f); }).what(), HasSubstr("does not exist"));
}

TEST_F(Strided, TensorsKeepTheirStrides) {
  if (!tested().info().dlpack_type) GTEST_SKIP() << "the device's memory has no name in DLPack";
  const auto x = matrix(4, 6);
  DLManagedTensor* const tensor =
      dlpack::to_tensor(x.permuted({1, 0}).slice(0, 1, 6, 2), dlpack::Order(stream));
  const auto y = dlpack::from_tensor<std::int32_t, 2>(stream, tensor);
  EXPECT_FALSE(y.contiguous());
  EXPECT_EQ(y.stride(0), 2);
  EXPECT_EQ(y.stride(1), 6);
  EXPECT_THAT(y.to_host(stream), ElementsAre(1, 7, 13, 19, 3, 9, 15, 21, 5, 11, 17, 23));
  y.fill(stream, 0);
  EXPECT_THAT(x.slice(0, 1).to_host(stream), ElementsAre(0, 0, 2, 0, 4, 0));
}

}  // namespace
}  // namespace weir::test
