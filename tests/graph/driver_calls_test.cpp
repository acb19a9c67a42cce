// SPDX-License-Identifier: Apache-2.0
// The driver calls of a launch as a graph, and their failures.
#include "runtime/devices/device_state.hpp"
#include "runtime/launch/stream_slots.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class DriverCalls : public testing::Test {
 protected:
  Device device = Watch::open();
  Stream stream = device.create_stream();
  Array<std::int32_t> x = zeros(), y = zeros();

  Array<std::int32_t> zeros() const {
    auto array = device.array<std::int32_t>(stream, 100);
    array.fill(stream, 0);
    return array;
  }
  void launch(std::int32_t a, std::int32_t b) const {
    add_both()(LaunchOptions{.mode = LaunchMode::graph}, stream, x, y, a, b);
  }
  static std::uint64_t calls(const char* slot) { return Watch::get().count(slot); }
};

TEST_F(DriverCalls, ARepeatedLaunchIsOneCall) {
  launch(1, 2);
  stream.synchronize();
  const std::uint64_t before = Watch::get().total();
  for (int i = 0; i < 10; ++i) launch(1, 2);
  EXPECT_EQ(Watch::get().total(), before + 10);
  EXPECT_EQ(calls("graph_launch"), 11u);
  EXPECT_EQ(calls("graph_create"), 1u);
  EXPECT_EQ(calls("kernel_launch"), 0u);
  EXPECT_THAT(x.to_host(stream), Each(11));
}

TEST_F(DriverCalls, OnlyChangedNodesAreUpdated) {
  launch(1, 2);
  launch(1, 5);
  EXPECT_EQ(calls("graph_update"), 1u);
  launch(3, 4);
  EXPECT_EQ(calls("graph_update"), 3u);
  EXPECT_THAT(x.to_host(stream), Each(5));
  EXPECT_THAT(y.to_host(stream), Each(11));
}

TEST_F(DriverCalls, AnUpdateThatTheDriverCannotMakeGivesANewGraph) {
  launch(1, 2);
  Watch::get().fail("graph_update", 1, WEIR_ERROR_UNSUPPORTED);
  launch(3, 4);
  EXPECT_EQ(calls("graph_create"), 2u);
  EXPECT_EQ(calls("graph_destroy"), 1u);
  EXPECT_EQ(calls("graph_update"), 1u);  // the new graph has all parameters
  EXPECT_THAT(x.to_host(stream), Each(4));
  EXPECT_THAT(y.to_host(stream), Each(6));
}

TEST_F(DriverCalls, AGraphThatTheDriverCannotMakeRunsOverStreams) {
  Watch::get().fail("graph_create", 1, WEIR_ERROR_UNSUPPORTED, 100);
  for (int i = 0; i < 3; ++i) launch(1, 2);
  EXPECT_EQ(calls("graph_launch"), 0u);
  EXPECT_EQ(calls("kernel_launch"), 6u);
  EXPECT_THAT(x.to_host(stream), Each(3));
  EXPECT_THAT(y.to_host(stream), Each(6));
}

// proves R21
TEST_F(DriverCalls, BlocksOfARegionDependOnEarlierWorkAndNotOnEachOther) {
  launch(1, 2);
  EXPECT_THAT(Watch::get().last_graph(), ElementsAre(IsEmpty(), IsEmpty()));

  auto a = device.array<std::int64_t>(stream, 100), b = device.array<std::int64_t>(stream, 100),
       sum = device.array<std::int64_t>(stream, 100);
  two_blocks()(LaunchOptions{.mode = LaunchMode::graph}, stream, a, b, sum);
  EXPECT_THAT(Watch::get().last_graph(),
              ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(1u), ElementsAre(0u), ElementsAre(3u),
                          UnorderedElementsAre(2u, 4u)));
}

TEST_F(DriverCalls, LoopsOfABlockThatNeedNotWaitAreBranchesOfGraphsOfGPUs) {
  static const Kernel kernel{"sums",
                             [](View<std::int64_t> a, View<std::int64_t> b, View<std::int64_t> c) {
                               stream_parallel([&] {
                                 range_for(a.size(), [&](Index i) { a[i] = i; });
                                 range_for(b.size(), [&](Index i) { b[i] = 2 * i; });
                                 range_for(a.size(), [&](Index i) { a[i] = a[i] + 1; });
                               });
                               stream_parallel([&] { range_for(c.size(), [&](Index i) { c[i] = 3 * i; }); });
                               range_for(c.size(), [&](Index i) { c[i] = c[i] + a[i] + b[i]; });
                             },
                             KernelOptions{.phases = false}};
  auto a = device.array<std::int64_t>(stream, 100), b = device.array<std::int64_t>(stream, 100),
       c = device.array<std::int64_t>(stream, 100);
  kernel(LaunchOptions{.mode = LaunchMode::graph}, stream, a, b, c);
  const std::vector<std::int64_t> sums = c.to_host(stream);
  for (std::int64_t i = 0; i < 100; ++i) ASSERT_EQ(sums[static_cast<std::size_t>(i)], 6 * i + 1);
  if (device.info().kind == DeviceKind::cpu)
    EXPECT_THAT(Watch::get().last_graph(), ElementsAre(IsEmpty(), ElementsAre(0u), ElementsAre(1u), IsEmpty(),
                                                       UnorderedElementsAre(2u, 3u)));
  else
    EXPECT_THAT(Watch::get().last_graph(), ElementsAre(IsEmpty(), ElementsAre(0u), IsEmpty(), IsEmpty(),
                                                       UnorderedElementsAre(1u, 2u, 3u)));
}

// proves R19, R34
TEST(FailedDriverCalls, LeakNothing) {
  for (const char* slot : {"graph_create", "graph_update", "graph_launch"}) {
    const Device device = Watch::open();
    const Stream stream = device.create_stream();
    auto x = device.array<std::int32_t>(stream, 100), y = device.array<std::int32_t>(stream, 100);
    x.fill(stream, 0);
    y.fill(stream, 0);
    const auto launch = [&](std::int32_t by) {
      add_both()(LaunchOptions{.mode = LaunchMode::graph}, stream, x, y, by, by);
    };
    if (slot != std::string("graph_create")) launch(10);
    const std::int32_t before = x.to_host(stream)[0];
    Watch::get().fail(slot, 1, WEIR_ERROR_OUT_OF_MEMORY);
    EXPECT_THAT(error_of(ErrorCode::out_of_memory, [&] { launch(1); }), HasSubstr("graph")) << slot;
    EXPECT_THAT(x.to_host(stream), Each(before)) << slot;
    launch(1);
    EXPECT_THAT(x.to_host(stream), Each(before + 1)) << slot;
    EXPECT_EQ(device.stream_statistics().streams_leased, 0u);
  }
}

TEST_F(DriverCalls, LeasesNoStreams) {
  const std::uint32_t before = device.stream_statistics().streams_created;
  launch(1, 1);
  EXPECT_EQ(device.stream_statistics().streams_created, before);
}

// proves R34
TEST_F(DriverCalls, ALostDeviceSaysSo) {
  launch(1, 1);
  stream.synchronize();
  Watch::get().lose_device();
  error_of(ErrorCode::device_lost, [&] { launch(1, 1); });
  error_of(ErrorCode::device_lost, [&] { launch(1, 1); });
}

// proves R2
TEST_F(DriverCalls, NameTheStreamThatWasAskedFor) {
  const Stream other = device.create_stream();
  const CurrentStream scope(other);
  launch(1, 1);
  stream.synchronize();
  void* const native = stream.state()->stream;
  Watch::get().start_recording();
  launch(2, 2);
  std::vector<const void*> used;
  for (const Call& call : Watch::get().recorded())
    if (call.slot == "graph_launch") used.push_back(call.second);
  EXPECT_THAT(used, testing::ElementsAre(native));
}

TEST_F(DriverCalls, EachStreamHasItsOwnGraphUpToALimit) {
  std::vector<Stream> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(device.create_stream());
  stream.synchronize();
  for (int round = 0; round < 2; ++round)
    for (const Stream& each : streams) add_both()(LaunchOptions{.mode = LaunchMode::graph}, each, x, y, 0, 0);
  EXPECT_LE(calls("graph_create"), detail::StreamSlots<int>::max_slots + 20u);
  device.synchronize();
}

TEST_F(DriverCalls, GraphsGoWithTheirKernel) {
  const std::uint64_t created = calls("graph_create"), destroyed = calls("graph_destroy");
  {
    const Kernel kernel{"gone", [](View<std::int32_t> x, View<std::int32_t> y) {
                          range_for(x.size(), [&](Index i) { x[i] = 1; });
                          range_for(y.size(), [&](Index i) { y[i] = 1; });
                        }};
    kernel(LaunchOptions{.mode = LaunchMode::graph}, stream, x, y);
  }
  EXPECT_EQ(calls("graph_create") - created, 1u);
  EXPECT_EQ(calls("graph_destroy") - destroyed, 1u);
}

}  // namespace
}  // namespace weir::test
