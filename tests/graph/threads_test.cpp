// SPDX-License-Identifier: Apache-2.0
#include "on_threads.hpp"
#include "support.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

using ::testing::Each;

class Threads : public EachExecutor {};
WEIR_EACH_EXECUTOR(Threads);

// proves R10
TEST_P(Threads, LaunchOneKernelOnStreamsOfTheirOwn) {
  const int launches = rounds_of(40);
  on_threads(8, [&](int t) {
    const Stream own = device.create_stream();
    auto x = device.array<std::int32_t>(own, 100), y = device.array<std::int32_t>(own, 100);
    x.fill(own, 0);
    y.fill(own, 0);
    for (int i = 0; i < launches; ++i) add_both()(options, own, x, y, t, i);
    EXPECT_THAT(x.to_host(own), Each(launches * t));
    EXPECT_THAT(y.to_host(own), Each(launches * (launches - 1) / 2));
  });
}

// proves R10
TEST_P(Threads, LaunchOneKernelOnOneStream) {
  auto x = filled<std::int32_t>(100, 0), y = filled<std::int32_t>(100, 0);
  const int launches = rounds_of(25);
  on_threads(8, [&](int t) {
    for (int i = 0; i < launches; ++i) add_both()(options, stream, x, y, t, 1);
  });
  EXPECT_THAT(x.to_host(stream), Each(launches * 28));
  EXPECT_THAT(y.to_host(stream), Each(launches * 8));
}

// proves R10
TEST_P(Threads, LetAutomaticLaunchesChoose) {
  const int launches = rounds_of(60);
  on_threads(8, [&](int) {
    const Stream own = device.create_stream();
    auto x = device.array<std::int32_t>(own, 100), y = device.array<std::int32_t>(own, 100);
    x.fill(own, 0);
    y.fill(own, 0);
    for (int i = 0; i < launches; ++i) add_both()(own, x, y, 1, 2);
    EXPECT_THAT(x.to_host(own), Each(launches));
    EXPECT_THAT(y.to_host(own), Each(launches * 2));
  });
}

// Runs of one graph use the same arrays, so the streams wait for each other.
// proves R10
TEST_P(Threads, LaunchOneGraph) {
  auto x = filled<std::int32_t>(64, 0), y = filled<std::int32_t>(64, 0);
  stream.synchronize();
  GraphBuilder builder(device);
  builder.launch(add_both(), x, y, 1, 2);
  builder.launch(add_both(), x, y, 1, 2);
  const Graph graph = builder.build();
  const int launches = rounds_of(25);
  on_threads(8, [&](int) {
    for (int i = 0; i < launches; ++i) graph.launch(stream);
  });
  EXPECT_THAT(x.to_host(stream), Each(launches * 16));
  EXPECT_THAT(y.to_host(stream), Each(launches * 32));
}

}  // namespace
}  // namespace weir::test
