// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "support.hpp"

namespace weir::test {
namespace {

using ::testing::Each;

class Threads : public EachExecutor {
 protected:
  template <class Body>
  static void eight(Body&& body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) threads.emplace_back(body, t);
    for (std::thread& thread : threads) thread.join();
  }
};
WEIR_EACH_EXECUTOR(Threads);

// proves R10
TEST_P(Threads, LaunchOneKernelOnStreamsOfTheirOwn) {
  eight([&](int t) {
    const Stream own = device.create_stream();
    auto x = device.array<std::int32_t>(own, 100), y = device.array<std::int32_t>(own, 100);
    x.fill(own, 0);
    y.fill(own, 0);
    for (int i = 0; i < 40; ++i) add_both()(options, own, x, y, t, i);
    EXPECT_THAT(x.to_host(own), Each(40 * t));
    EXPECT_THAT(y.to_host(own), Each(780));
  });
}

// proves R10
TEST_P(Threads, LaunchOneKernelOnOneStream) {
  auto x = filled<std::int32_t>(100, 0), y = filled<std::int32_t>(100, 0);
  eight([&](int t) {
    for (int i = 0; i < 25; ++i) add_both()(options, stream, x, y, t, 1);
  });
  EXPECT_THAT(x.to_host(stream), Each(25 * 28));
  EXPECT_THAT(y.to_host(stream), Each(200));
}

// proves R10
TEST_P(Threads, LetAutomaticLaunchesChoose) {
  eight([&](int) {
    const Stream own = device.create_stream();
    auto x = device.array<std::int32_t>(own, 100), y = device.array<std::int32_t>(own, 100);
    x.fill(own, 0);
    y.fill(own, 0);
    for (int i = 0; i < 60; ++i) add_both()(own, x, y, 1, 2);
    EXPECT_THAT(x.to_host(own), Each(60));
    EXPECT_THAT(y.to_host(own), Each(120));
  });
}

// Runs of one graph work on the same arrays, so that the streams take turns. proves R10
TEST_P(Threads, LaunchOneGraph) {
  auto x = filled<std::int32_t>(64, 0), y = filled<std::int32_t>(64, 0);
  stream.synchronize();
  GraphBuilder builder(device);
  builder.launch(add_both(), x, y, 1, 2);
  builder.launch(add_both(), x, y, 1, 2);
  const Graph graph = builder.build();
  eight([&](int) {
    for (int i = 0; i < 25; ++i) graph.launch(stream);
  });
  EXPECT_THAT(x.to_host(stream), Each(400));
  EXPECT_THAT(y.to_host(stream), Each(800));
}

}  // namespace
}  // namespace weir::test
