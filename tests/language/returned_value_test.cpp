// SPDX-License-Identifier: Apache-2.0
// Values that kernels return: each launch returns futures, which are read on the host.
#include <array>
#include <cstdint>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "on_threads.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

const auto& sum_kernel() {
  static const Kernel kernel{
      "sum", [](View<const float> x) { return reduce_sum(x.size(), [&](Index i) { return x[i]; }); }};
  return kernel;
}

/// Adds `by` to all elements and returns their sum and number.
const auto& add_kernel() {
  static const Kernel kernel{"add", [](View<std::int32_t> x, Value<std::int32_t> by) {
                               range_for(x.size(), [&](Index i) { x[i] += by; });
                               Value<std::int32_t> sum = reduce_sum(x.size(), [&](Index i) { return x[i]; });
                               return std::pair(sum, x.size());
                             }};
  return kernel;
}

const auto& checked_kernel() {
  static const Kernel kernel{"checked", [](View<float> x) {
                               range_for(x.size(),
                                         [&](Index i) { assert_(x[i] >= 0, "depth is not negative"); });
                               return reduce_sum(x.size(), [&](Index i) { return x[i]; });
                             }};
  return kernel;
}

TEST(ReturnedValue, IsOneFutureForOneValue) {
  const auto x = upload(std::vector<float>{1, 2, 4});
  const Stream stream = tested().create_stream();
  const Future<float> sum = sum_kernel()(stream, x);
  EXPECT_TRUE(sum.valid());
  EXPECT_EQ(sum.get(), 7);
  EXPECT_EQ(sum.get(), 7);  // as often as wanted
  EXPECT_TRUE(sum.ready());
  EXPECT_EQ(sum_kernel()(x).get(), 7);  // on the current stream
}

TEST(ReturnedValue, IsAFutureForEachMemberOfATuplePairOrArray) {
  const auto x = upload(std::vector<float>{3, 5, 8});
  const Kernel tuple{"tuple", [](View<const float> x) {
                       const Value a = x[0], b = x[1];
                       return std::tuple(a + b, x.size(), a < b, vec(a, b, a * b), mat<2, 2>(a, b, b, a));
                     }};
  auto [sum, size, less, vector, matrix] = tuple(x);
  EXPECT_EQ(matrix.get(), (Mat<float, 2, 2>{3, 5, 5, 3}));
  EXPECT_EQ(vector.get(), (Vec<float, 3>{3, 5, 15}));
  EXPECT_TRUE(less.get());
  EXPECT_EQ(size.get(), 3);
  EXPECT_EQ(sum.get(), 8);
  const Kernel pair{
      "pair", [](View<const float> x) { return std::pair(Value(x[2]), any(vec(x[0] > x[1], x[1] > x[2]))); }};
  const std::pair<Future<float>, Future<bool>> both = pair(x);
  EXPECT_EQ(both.first.get(), 8);
  EXPECT_FALSE(both.second.get());
  const Kernel array{"array", [](View<const float> x) { return std::array{Value(x[2]), Value(x[1])}; }};
  const std::array<Future<float>, 2> two = array(x);
  EXPECT_EQ(two[0].get() * 10 + two[1].get(), 85);
}

TEST(ReturnedValue, OfEveryScalarTypeHasTheSameBits) {
  const auto check = []<class T>(T value) {
    const Kernel kernel{"same", [](Value<T> v) { return v; }};
    EXPECT_EQ(kernel(tested().default_stream(), value).get(), value);
  };
  check(true);
  check(false);
  check(std::int8_t{-7});
  check(std::int16_t{-30000});
  check(std::int32_t{-2000000000});
  check(std::int64_t{-9000000000000000000});
  check(std::uint8_t{200});
  check(std::uint16_t{60000});
  check(std::uint32_t{4000000000u});
  check(std::uint64_t{18000000000000000000u});
  check(-0.1f);
  check(0.1);
  check(Vec<std::uint8_t, 3>{1, 2, 255});
  check(Vec<bool, 2>{true, false});
  check(Mat<double, 16, 16>{1, 2, 3});
}

TEST(ReturnedValue, IsReadFromAnElementOrComputedFromConstantsAlone) {
  const Kernel element{"element", [](View<const half> x) { return x[1]; }};
  const auto x = upload(std::vector<half>{half(1.0f), half(2.5f)});
  const Future<float> second = element(x);
  EXPECT_EQ(second.get(), 2.5f);
  const Kernel constant{"constant", [](View<const half>) { return Value<std::int32_t>(42); }};
  EXPECT_EQ(constant(x).get(), 42);
}

// The pieces of memory are reused, so values of earlier launches must not reach later futures.
TEST(ReturnedValue, OfManyLaunchesInFlightBelongToTheirLaunches) {
  const Stream stream = tested().create_stream();
  const auto x = tested().array<std::int32_t>(stream, 100);
  x.fill(stream, 0);
  std::vector<std::pair<Future<std::int32_t>, Future<std::int64_t>>> all;
  for (int i = 0; i < 200; ++i) {
    auto futures = add_kernel()(stream, x, 1);
    if (i % 3 != 1) all.push_back(std::move(futures));  // the others are discarded
  }
  std::size_t k = 0;
  for (int i = 0; i < 200; ++i) {
    if (i % 3 == 1) continue;
    ASSERT_EQ(all[k].first.get(), 100 * (i + 1)) << i;
    ASSERT_EQ(all[k++].second.get(), 100);
  }
}

TEST(ReturnedValue, FollowsRegionsAndIsTheSameInEveryModeAndFusion) {
  const auto body = [](View<float> x, View<float> y) {
    stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = cast<float>(i) + random<float>(); }); });
    stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = 1.0f / (cast<float>(i) + 1.0f); }); });
    range_for(x.size(), [&](Index i) { x[i] = x[i] * y[i]; });
    range_for(x.size(), [&](Index i) { y[i] += x[i]; });
    return std::tuple(reduce_sum(x.size(), [&](Index i) { return x[i]; }),
                      reduce_max(y.size(), [&](Index i) { return y[i]; }));
  };
  const Kernel fused{"fused", body};
  const Kernel apart{"fused", body, {.fusion = false}};
  const Kernel debugged{"fused", body, {.debug = true}};
  const auto x = tested().array<float>(1000), y = tested().array<float>(1000);
  std::optional<std::pair<float, float>> first;
  const Stream stream = tested().create_stream();
  for (const auto* kernel : {&fused, &apart, &debugged})
    for (const LaunchMode mode : {LaunchMode::automatic, LaunchMode::streams, LaunchMode::graph})
      for (int round = 0; round < 8; ++round) {  // automatic launches become graphs
        const LaunchOptions options{.seed = 3, .launch_number = 0, .mode = mode};
        const auto [sum, greatest] = (*kernel)(options, stream, x, y);
        const std::pair found(sum.get(), greatest.get());
        if (!first) first = found;
        ASSERT_EQ(found, *first) << kernel->ir() << static_cast<int>(mode) << " " << round;
      }
}

TEST(ReturnedValue, ThrowsTheFailureOfItsLaunchEachTime) {
  const Stream stream = tested().create_stream();
  const auto good = upload(std::vector<float>{1, 2}), bad = upload(std::vector<float>{1, -2});
  const Future<float> before = checked_kernel()(stream, good), failed = checked_kernel()(stream, bad);
  EXPECT_EQ(before.get(), 3);
  for (int i = 0; i < 2; ++i) {
    const Error error = thrown_by([&] { (void)failed.get(); });
    EXPECT_EQ(error.code(), ErrorCode::assertion);
    EXPECT_EQ(error.kernel(), "checked");
    EXPECT_THAT(error.what(), HasSubstr("depth is not negative"));
    EXPECT_THAT(error.what(), HasSubstr("returned_value_test.cpp"));
  }
  EXPECT_NO_THROW(failed.wait());
  EXPECT_TRUE(failed.ready());
  EXPECT_NO_THROW(stream.synchronize()) << "it was reported by get()";
  EXPECT_EQ(checked_kernel()(stream, good).get(), 3);
}

TEST(ReturnedValue, ThrowsAFailureThatTheStreamHasReported) {
  const Stream stream = tested().create_stream();
  const auto bad = upload(std::vector<float>{-1});
  const Future<float> failed = checked_kernel()(stream, bad);
  EXPECT_THAT(error_of([&] { stream.synchronize(); }), HasSubstr("depth is not negative"));
  EXPECT_THAT(error_of([&] { (void)failed.get(); }), HasSubstr("depth is not negative"));
  EXPECT_NO_THROW(stream.synchronize());
}

TEST(ReturnedValue, DoesNotThrowTheFailureOfALaterLaunch) {
  const Stream stream = tested().create_stream();
  const auto good = upload(std::vector<float>{1}), bad = upload(std::vector<float>{-1});
  const Future<float> before = checked_kernel()(stream, good);
  checked_kernel()(stream, bad);
  EXPECT_THAT(error_of([&] { stream.synchronize(); }), HasSubstr("depth is not negative"));
  EXPECT_EQ(before.get(), 1);
}

TEST(ReturnedValue, ThatIsDiscardedDoesNotHideItsFailure) {
  const Stream stream = tested().create_stream();
  checked_kernel()(stream, upload(std::vector<float>{-1}));
  EXPECT_THAT(error_of([&] { stream.synchronize(); }), HasSubstr("depth is not negative"));
}

TEST(ReturnedValue, OutlivesItsStreamKernelAndArrays) {
  Future<std::int32_t> sum;
  Future<float> failed;
  {
    const Stream stream = tested().create_stream();
    const auto x = upload(std::vector<std::int32_t>(1000, 2));
    const Kernel kernel{"local", [](View<std::int32_t> x) {
                          return reduce_sum(x.size(), [&](Index i) { return x[i] * 3; });
                        }};
    sum = kernel(stream, x);
    failed = checked_kernel()(stream, upload(std::vector<float>{-1}));
  }
  const Stream next = tested().create_stream();
  const auto y = upload(std::vector<std::int32_t>(10, 1));
  EXPECT_EQ(add_kernel()(next, y, 4).first.get(), 50);
  EXPECT_EQ(sum.get(), 6000);
  EXPECT_THAT(error_of([&] { (void)failed.get(); }), HasSubstr("depth is not negative"));
  EXPECT_NO_THROW(next.synchronize()) << "a failure of the destroyed stream";
}

TEST(ReturnedValue, OfNoLaunchIsRefused) {
  Future<float> none;
  EXPECT_FALSE(none.valid());
  const std::string words = "the future has no value: it was moved from, or made without a launch";
  EXPECT_THAT(error_of([&] { (void)none.get(); }), HasSubstr(words));
  EXPECT_THAT(error_of([&] { (void)none.ready(); }), HasSubstr(words));
  EXPECT_THAT(error_of([&] { none.wait(); }), HasSubstr(words));
  Future<float> moved = sum_kernel()(upload(std::vector<float>{1}));
  none = std::move(moved);
  EXPECT_FALSE(moved.valid());
  EXPECT_EQ(none.get(), 1);
}

TEST(ReturnedValue, MovedFromIsNotValidWhateverItIsMovedTo) {
  Future<float> held = sum_kernel()(upload(std::vector<float>{1}));
  held.wait();
  Future<float> moved = sum_kernel()(upload(std::vector<float>{2}));
  held = std::move(moved);
  EXPECT_FALSE(moved.valid());
  EXPECT_THAT(error_of([&] { (void)moved.get(); }), HasSubstr("the future has no value"));
  EXPECT_EQ(held.get(), 2);
  Future<float>& same = held;
  held = std::move(same);
  EXPECT_EQ(held.get(), 2);
}

TEST(ReturnedValue, OfRefusedLaunchesSubmitNothing) {
  Array<float> freed = upload(std::vector<float>{1});
  const ArrayView<float> view = freed;
  freed = {};
  EXPECT_THAT(error_of([&] { sum_kernel()(tested().default_stream(), view); }),
              HasSubstr("kernel 'sum', argument 1: the array does not exist"));
}

TEST(ReturnedValue, IsAnArrayParameterOfTheProgram) {
  const Program& program = add_kernel().program();
  ASSERT_EQ(program.parameters().size(), 4u);
  EXPECT_EQ(program.parameters()[2].name, "result_0");
  EXPECT_EQ(program.parameters()[2].rank, 0);
  EXPECT_TRUE(program.parameters()[2].written);
  EXPECT_EQ(sum_kernel().program().parameters()[1].name, "result");
  EXPECT_THAT(add_kernel().ir(), HasSubstr("param @result_1 : array<i64, 0>"));
  EXPECT_EQ(Program::parse(add_kernel().ir()).text(), add_kernel().ir());
  const Kernel named{
      "named", [](View<const float> x) { return Value(x[0]); }, {.parameter_names = {"x", "first"}}};
  EXPECT_THAT(named.ir(), HasSubstr("param @first : array<f32, 0>"));
  const Kernel taken{
      "taken", [](View<const float> x) { return Value(x[0]); }, {.parameter_names = {"result"}}};
  EXPECT_EQ(taken.program().parameters()[1].name, "result_");
  const auto names = [] {
    Kernel{"names", [](View<const float> x) { return Value(x[0]); }, {.parameter_names = {"x", "y", "z"}}};
  };
  EXPECT_THAT(error_of(names), HasSubstr("has 3 names for 2 parameters and returned values"));
}

// C++ ends the lambda at the first return, so the values are those at its end.
TEST(ReturnedValue, MustBelongToTheKernelsBody) {
  const auto inner = [] {
    Kernel{"inner", [](View<const float> x) {
             std::optional<Value<float>> last;
             range_for(x.size(), [&](Index i) { last.emplace(x[i]); });
             return *last;
           }};
  };
  EXPECT_THAT(error_of(inner), HasSubstr("is used after the loop or branch that it belongs to has ended"));
}

TEST(ReturnedValue, InAGraphIsStoredToAnArrayByEachRun) {
  const auto x = upload(std::vector<std::int32_t>(10, 1));
  const auto sum = tested().array<std::int32_t>();
  const auto size = tested().array<std::int64_t>(), other = tested().array<std::int64_t>();
  GraphBuilder builder(tested());
  const auto node = builder.launch(add_kernel(), x, 2, sum, size);
  Graph graph = builder.build();
  const Stream stream = tested().create_stream();
  for (int i = 1; i <= 3; ++i) {
    graph.launch(stream);
    EXPECT_EQ(sum.value(stream), 10 * (1 + 2 * i));
  }
  graph.update(node, x, 3, sum, other);
  graph.launch(stream);
  EXPECT_EQ(sum.value(stream), 100);
  EXPECT_EQ(other.value(stream), 10);
}

// proves R8
TEST(ReturnedValue, OfOneKernelOnManyThreadsAndStreams) {
  const Stream shared = tested().create_stream();
  const auto z = tested().array<std::int32_t>(shared, 8);
  z.fill(shared, 5);
  const int rounds = rounds_of(100);
  on_threads(8, [&](int thread) {
    const Stream own = tested().create_stream();
    const auto x = tested().array<std::int32_t>(own, 64);
    x.fill(own, thread);
    for (int i = 1; i <= rounds; ++i) {
      auto [sum, size] = add_kernel()(own, x, 1);
      const Future<std::int32_t> same = add_kernel()(shared, z, 0).first;
      if (i % 4 == 0) continue;  // discards both
      ASSERT_EQ(sum.get(), 64 * (thread + i));
      ASSERT_EQ(size.get(), 64);
      ASSERT_EQ(same.get(), 40);
    }
  });
}

}  // namespace
}  // namespace weir::test
