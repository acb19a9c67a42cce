// SPDX-License-Identifier: Apache-2.0
// Properties of every launch, with either executor.
#include <algorithm>
#include <cmath>

#include "support.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Launches : public EachExecutor {};
WEIR_EACH_EXECUTOR(Launches);

// proves R11
TEST_P(Launches, BlocksRunInOrderAndTheRegionJoins) {
  const std::int64_t n = 20'000;
  auto x = device.array<std::int64_t>(n), y = device.array<std::int64_t>(n),
       z = device.array<std::int64_t>(n);
  for (int i = 0; i < 20; ++i) two_blocks()(options, stream, x, y, z);
  const std::vector<std::int64_t> got = z.to_host(stream);
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 2 * i + 3 * (i + 1));
}

// proves R13, R14, R17
TEST_P(Launches, BlocksHoldStatementsBranchesLoopsAndReductions) {
  const Kernel kernel{"mixed", [](View<float> x, View<float> y, View<float> sum, Value<float> a) {
                        sum[0] = a;
                        stream_parallel([&] {
                          x[0] = sum[0];
                          if_(x[0] > 1, [&] { x[1] = x[0] * 2; });
                          Var<float> v = x[1];
                          while_([&] { return v < 100; }, [&] { v *= 2; });
                          x[2] = reduce_sum(2, [&](Index i) { return x[i]; });
                          range_for(range(3, x.size()), [&](Index i) { x[i] = x[2] + v; });
                        });
                        stream_parallel([&] {
                          for_(0, y.size(), [&](Index i) {
                            if_(i == 2, [&] { break_(); });
                            y[i] = a;
                          });
                        });
                        sum[0] = reduce_sum(x.size(), [&](Index i) { return x[i]; });
                        stream_parallel([&] { x[0] = sum[0]; });
                        stream_parallel([&] { y[3] = sum[0]; });
                      }};
  auto x = filled<float>(4, 0), y = filled<float>(4, 0), sum = filled<float>(1, 0);
  for (int i = 0; i < 5; ++i) kernel(options, stream, x, y, sum, 3.0f);
  EXPECT_THAT(x.to_host(stream), ElementsAre(3 + 6 + 9 + 201, 6, 9, 201));
  EXPECT_THAT(y.to_host(stream), ElementsAre(3, 3, 0, 219));
}

// proves R12
TEST_P(Launches, NeverWaitOnTheHost) {
  const Kernels kernels(device);
  const Kernel counted{"counted", [](View<std::int32_t> x, View<std::int32_t> n, View<std::int32_t> y) {
                         n[0] = 3;
                         stream_parallel([&] { range_for(n[0], [&](Index i) { x[i] = 1; }); });
                         stream_parallel([&] { range_for(n[0], [&](Index i) { y[i] = 2; }); });
                       }};
  auto x = filled<std::int32_t>(5, 0), y = filled<std::int32_t>(5, 0), n = filled<std::int32_t>(1, 0);
  counted(options, stream, x, n, y);
  stream.synchronize();
  Flag flag;
  kernels.close_gate(stream, flag);
  const std::uint64_t before = host_waits();
  for (int i = 0; i < 10; ++i) counted(options, stream, x, n, y);  // return although the gate is closed
  EXPECT_EQ(host_waits(), before);
  flag.open();
  EXPECT_THAT(x.to_host(stream), ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(y.to_host(stream), ElementsAre(2, 2, 2, 0, 0));
}

// proves R8, R23
TEST_P(Launches, OnTwoStreamsShareNoTemporaries) {
  const Stream other = device.create_stream();
  const std::int64_t n = 1000;
  auto ones = filled<std::int64_t>(n, 1), twos = filled<std::int64_t>(n, 2);
  auto a = filled<std::int64_t>(n, 0), b = filled<std::int64_t>(n, 0);
  other.wait(stream);
  for (int i = 0; i < 50; ++i) {
    times_sum()(options, stream, ones, a);
    times_sum()(options, other, twos, b);
  }
  EXPECT_THAT(a.to_host(stream), Each(n));
  EXPECT_THAT(b.to_host(other), Each(4 * n));
}

// proves R1, R8
TEST_P(Launches, OfOneKernelOnTwoStreamsDoNotWaitForOneAnother) {
  const Kernels kernels(device);
  const Stream other = device.create_stream();
  auto x = filled<std::int32_t>(10, 0), y = filled<std::int32_t>(10, 0);
  auto v = filled<std::int32_t>(10, 0), w = filled<std::int32_t>(10, 0);
  other.wait(stream);
  // Once without the gate: some drivers create streams, load code and free memory only when no callback runs.
  add_both()(options, stream, x, y, 1, 1);
  add_both()(options, other, v, w, 1, 1);
  stream.synchronize();
  EXPECT_THAT(v.to_host(other), Each(1));
  Flag flag;
  kernels.close_gate(stream, flag);
  add_both()(options, stream, x, y, 1, 1);
  add_both()(options, other, v, w, 4, 5);
  EXPECT_THAT(v.to_host(other), Each(5));  // returns although the gate is closed
  EXPECT_FALSE(stream.query());
  flag.open();
  EXPECT_THAT(x.to_host(stream), Each(2));
}

// proves R23
TEST_P(Launches, KeepTheirArgumentsWhenTheNextHasOthers) {
  const Kernels kernels(device);
  auto x = filled<std::int32_t>(100, 0), y = filled<std::int32_t>(100, 0);
  add_both()(options, stream, x, y, 0, 0);  // loading code may wait for the device, and so for the gate
  Flag flag;
  kernels.close_gate(stream, flag);
  std::int32_t sum = 0;
  for (std::int32_t i = 0; i < 40; ++i) {
    add_both()(options, stream, x, y, i, 2 * i);
    sum += i;
  }
  flag.open();
  EXPECT_THAT(x.to_host(stream), Each(sum));
  EXPECT_THAT(y.to_host(stream), Each(2 * sum));
}

TEST_P(Launches, TakeArraysOfOtherSizesAndOfNone) {
  for (const std::int64_t n : {1000, 1, 0, 300'000, 0, 64}) {
    auto x = filled<std::int32_t>(n, 1), y = filled<std::int32_t>(2 * n, 2);
    add_both()(options, stream, x, y, 10, 20);
    EXPECT_THAT(x.to_host(stream), Each(11));
    EXPECT_THAT(y.to_host(stream), Each(22));
  }
}

TEST_P(Launches, WithNothingToDoSubmitNothing) {
  auto x = device.array<std::int32_t>(stream, 0), y = device.array<std::int32_t>(stream, 0);
  add_both()(options, stream, x, y, 1, 1);
  EXPECT_EQ(calls("kernel_launch") + calls("graph_launch"), 0u);
}

// proves R15
TEST_P(Launches, OfEmptyAndSingleBlocks) {
  const Kernel kernel{"few", [](View<std::int32_t> x) {
                        stream_parallel([&] {});
                        stream_parallel([&] { x[0] = 1; });
                        x[1] = x[0];
                        stream_parallel([&] { x[2] = x[1]; });
                        stream_parallel([&] {});
                      }};
  auto x = filled<std::int32_t>(3, 0);
  kernel(options, stream, x);
  EXPECT_THAT(x.to_host(stream), Each(1));
}

// proves R18
TEST_P(Launches, RefuseBlocksThatWouldShareMemory) {
  auto x = filled<std::int32_t>(10, 0);
  add_both()(options, stream, x.slice(0, 5), x.slice(5, 10), 1, 2);
  EXPECT_THAT(
      error_of(ErrorCode::invalid, [&] { add_both()(options, stream, x.slice(0, 6), x.slice(5, 10), 1, 2); }),
      AllOf(HasSubstr("'x'"), HasSubstr("'y'"), HasSubstr("share memory")));
  EXPECT_THAT(x.to_host(stream), ElementsAre(1, 1, 1, 1, 1, 2, 2, 2, 2, 2));
}

// proves R34
TEST_P(Launches, FailedAssertsSurfaceOnceWithKernelAndWords) {
  const Kernel checked{"checked", [](View<std::int32_t> x, View<std::int32_t> y, Value<std::int32_t> limit) {
                         stream_parallel([&] {
                           range_for(x.size(), [&](Index i) {
                             assert_(x[i] < limit, "too large");
                             x[i] = x[i] + 1;
                           });
                         });
                         stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = limit; }); });
                       }};
  auto x = filled<std::int32_t>(8, 5), y = filled<std::int32_t>(8, 0);
  for (int round = 0; round < 3; ++round) {
    checked(options, stream, x, y, 0);
    EXPECT_THAT(error_of(ErrorCode::assertion, [&] { stream.synchronize(); }),
                AllOf(HasSubstr("'checked'"), HasSubstr("too large")));
    checked(options, stream, x, y, 1000);
    stream.synchronize();
  }
}

// proves R6
TEST_P(Launches, OutliveTheirKernelAndStream) {
  const Kernels kernels(device);
  auto x = filled<std::int32_t>(10, 0), y = filled<std::int32_t>(10, 0);
  Event done = device.create_event();
  Flag flag;
  {
    const Stream own = device.create_stream();
    own.wait(stream);
    const Kernel kernel{"short-lived", [](View<std::int32_t> x, View<std::int32_t> y) {
                          stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = 1; }); });
                          stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = 2; }); });
                        }};
    kernel(options, own, x, y);  // loading code may wait for the device, and so for the gate
    kernels.close_gate(own, flag);
    for (int i = 0; i < 3; ++i) kernel(options, own, x, y);
    done.record(own);
  }
  EXPECT_EQ(calls("module_unload"), 0u);
  flag.open();
  stream.wait(done);
  EXPECT_THAT(x.to_host(stream), Each(1));
  EXPECT_THAT(y.to_host(stream), Each(2));
}

// proves R24
TEST_P(Launches, AreProfiledTaskByTask) {
  const std::int64_t n = 1000;
  auto x = device.array<std::int64_t>(n), y = device.array<std::int64_t>(n),
       z = device.array<std::int64_t>(n);
  two_blocks()(options, stream, x, y, z);
  stream.synchronize();
  Profile profile(device);
  const std::uint64_t waits = host_waits();
  for (int i = 0; i < 3; ++i) two_blocks()(options, stream, x, y, z);
  EXPECT_EQ(host_waits(), waits);
  stream.synchronize();
  const std::vector<TaskTime> times = profile.results();
  EXPECT_EQ(times.size(), 18u);
  EXPECT_EQ(std::ranges::count_if(times, [](const TaskTime& t) { return t.region == 0 && t.block == 1; }), 6);
  for (const TaskTime& time : times) EXPECT_GE(time.duration, 0);
}

// proves R22
TEST_P(Launches, CountOnWithRandomNumbers) {
  const Kernel draw{"draw", [](View<float> x, View<float> y) {
                      stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = random<float>(); }); });
                      stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = random<float>(); }); });
                    }};
  auto x = device.array<float>(100), y = device.array<float>(100);
  std::vector<std::vector<float>> counted, asked;
  for (std::uint64_t i = 0; i < 4; ++i) {
    draw(options, stream, x, y);
    counted.push_back(x.to_host(stream));
    EXPECT_NE(counted.back(), y.to_host(stream));
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    LaunchOptions numbered = options;
    numbered.launch_number = i;
    draw(numbered, stream, x, y);
    asked.push_back(x.to_host(stream));
  }
  EXPECT_EQ(counted, asked);
  EXPECT_NE(counted[0], counted[1]);
}

// Sums, random numbers and functions of both executors, compared bit for bit.
// proves R22
TEST(Executors, GiveTheSameBits) {
  const Kernel kernel{
      "all", [](View<float> x, View<double> y, View<float> z, Value<float> a) {
        range_for(z.size(), [&](Index i) { z[i] = random<float>() + a; });
        stream_parallel([&] {
          const Value<float> sum = reduce_sum(z.size(), [&](Index i) { return z[i]; });
          range_for(x.size(), [&](Index i) { x[i] = sin(z[i]) * sum; });
        });
        stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = exp(cast<double>(z[i])) / 3.0; }); });
        const Value<float> total = reduce_sum(x.size(), [&](Index i) { return x[i]; });
        range_for(z.size(), [&](Index i) { z[i] = z[i] + total; });
      }};
  std::vector<std::vector<float>> xs, zs;
  std::vector<std::vector<double>> ys;
  for (const Executor& executor : {over_streams, as_graph, without_graphs}) {
    const Device device = device_for(executor);
    const Stream stream = device.create_stream();
    auto x = device.array<float>(10'000), z = device.array<float>(10'000);
    auto y = device.array<double>(10'000);
    for (std::uint64_t i = 0; i < 3; ++i)
      kernel(LaunchOptions{.seed = 11, .launch_number = i, .mode = executor.mode}, stream, x, y, z, 0.25f);
    xs.push_back(x.to_host(stream));
    ys.push_back(y.to_host(stream));
    zs.push_back(z.to_host(stream));
  }
  EXPECT_THAT(xs, Each(xs[0]));
  EXPECT_THAT(ys, Each(ys[0]));
  EXPECT_THAT(zs, Each(zs[0]));
}

}  // namespace
}  // namespace weir::test
