// SPDX-License-Identifier: Apache-2.0
// Profiles: which tasks are timed, the data of each task, and that no call waits for the times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <weir/profile.hpp>
#include <weir/weir.hpp>

#include "on_threads.hpp"
#include "tested_device.hpp"

namespace weir {
namespace {

class ProfileTest : public testing::Test {
 protected:
  /// A loop, a region of two blocks of which one has two loops, and a loop.
  static const auto& kernel() {
    static const Kernel k{
        "profiled", [](View<float> x, View<float> y) {
          range_for(x.size(), [&](Index i) { x[i] = x[i] + 1.0f; });
          stream_parallel([&] {
            range_for(x.size(), [&](Index i) { x[i] = x[i] * 2.0f; });
            range_for(x.size() - 1, [&](Index i) { x[i] = x[i] * 3.0f; });
          });
          stream_parallel([&] {  // the length of the inner loop, 1, is unknown to the host: the region forks
            range_for(y.size(),
                      [&](Index i) { range_for(y.size() / y.size(), [&](Index) { y[i] = y[i] - 1.0f; }); });
          });
          range_for(y.size(), [&](Index i) { y[i] = y[i] * 2.0f; });
        }};
    return k;
  }
  static constexpr std::size_t tasks = 5;

  void SetUp() override {
    x.fill(stream, 0.0f);
    y.fill(stream, 0.0f);
    kernel()(stream, x, y);  // compiled before the measurement
    stream.synchronize();
  }

  Device device = open(test::tested_device());
  Stream stream = device.create_stream();
  CurrentStream current{stream};
  Array<float> x = device.array<float>(5000), y = device.array<float>(5000);
};

TEST_F(ProfileTest, TimesEveryTaskOfALaunch) {
  const Profile profile(device);
  kernel()(stream, x, y);
  stream.synchronize();
  const std::vector<TaskTime> times = profile.results();
  ASSERT_EQ(times.size(), tasks);
  EXPECT_EQ(times[0].start, 0);
  double busy = 0;
  for (const TaskTime& time : times) {
    EXPECT_EQ(time.kernel, "profiled");
    EXPECT_FALSE(time.task.empty());
    EXPECT_GE(time.duration, 0);
    busy += time.duration;
  }
  EXPECT_GT(busy, 0);
}

TEST_F(ProfileTest, NamesRegionsAndBlocks) {
  const Profile profile(device);
  kernel()(stream, x, y);
  stream.synchronize();
  std::vector<std::pair<int, int>> places;
  for (const TaskTime& time : profile.results()) places.emplace_back(time.region, time.block);
  using Place = std::pair<int, int>;
  EXPECT_THAT(places,
              testing::ElementsAre(Place(-1, -1), Place(0, 0), Place(0, 0), Place(0, 1), Place(-1, -1)));
}

TEST_F(ProfileTest, StartsCountFromTheTaskThatBeganFirst) {
  if (!device.info().has(Capability::host_callback)) GTEST_SKIP() << "holds a stream by a callback";
  const Stream other = device.create_stream();
  Array<float> z = device.array<float>(other, 10);
  const Kernel early{"early", [](View<float> v) { range_for(v.size(), [&](Index i) { v[i] = 1.0f; }); }};
  early(other, z);
  other.synchronize();
  std::promise<void> release;
  stream.call_host([released = release.get_future().share()] { released.wait(); });
  const Profile profile(device);
  kernel()(stream, x, y);  // submitted first, and begins last
  early(other, z);
  other.synchronize();
  release.set_value();
  stream.synchronize();
  const std::vector<TaskTime> times = profile.results();
  ASSERT_EQ(times.size(), tasks + 1);
  EXPECT_EQ(std::ranges::min(times, {}, &TaskTime::start).kernel, "early");
  EXPECT_EQ(std::ranges::min(times, {}, &TaskTime::start).start, 0);
}

// proves R24
TEST_F(ProfileTest, TimesAreThoseOfTheStreamThatRanTheTask) {
  const Profile profile(device);
  for (int i = 0; i < 10; ++i) kernel()(stream, x, y);
  stream.synchronize();
  std::map<std::uint32_t, double> end_of_stream;
  std::map<int, std::set<std::uint32_t>> streams_of_block;
  for (const TaskTime& time : profile.results()) {
    double& end = end_of_stream[time.stream];
    EXPECT_GE(time.start, end) << time.task << " began before the previous task on its stream had ended";
    end = time.start + time.duration;
    streams_of_block[time.block].insert(time.stream);
  }
  EXPECT_GE(end_of_stream.size(), 2u);
  for (std::uint32_t other : streams_of_block[1]) EXPECT_FALSE(streams_of_block[0].contains(other));
}

// proves R24
TEST_F(ProfileTest, NothingWaitsForTheTimes) {
  const Profile profile(device);
  std::promise<void> gate;  // opens when it is destroyed, before the profile, which waits
  const std::shared_future<void> open_gate = gate.get_future().share();
  stream.call_host([open_gate] { open_gate.wait_for(test::patience()); });
  kernel()(stream, x, y);  // returns although the stream is blocked
  EXPECT_EQ(profile.size(), tasks);
  EXPECT_TRUE(profile.results().empty());
  gate.set_value();
  stream.synchronize();
  EXPECT_EQ(profile.results().size(), tasks);
}

TEST_F(ProfileTest, LeavesResultsAsTheyAre) {
  std::vector<float> plain, watched;
  for (std::vector<float>* result : {&plain, &watched}) {
    std::optional<Profile> profile;
    if (result == &watched) profile.emplace(device);
    x.fill(stream, 1.0f);
    kernel()(stream, x, y);
    *result = x.to_host(stream);
  }
  EXPECT_EQ(plain, watched);
}

TEST_F(ProfileTest, TimesOnlyWorkOfItsThread) {
  const Profile profile(device);
  test::on_threads(1, [&](int) { kernel()(stream, x, y); });
  EXPECT_EQ(profile.size(), 0u);
}

TEST_F(ProfileTest, TheInnermostCounts) {
  const Profile outer(device);
  {
    const Profile inner(device);
    kernel()(stream, x, y);
    EXPECT_EQ(inner.size(), tasks);
  }
  EXPECT_EQ(outer.size(), 0u);
  kernel()(stream, x, y);
  EXPECT_EQ(outer.size(), tasks);
}

TEST_F(ProfileTest, StopsOnRequest) {
  Profile profile(device);
  kernel()(stream, x, y);
  profile.stop();
  kernel()(stream, x, y);
  stream.synchronize();
  EXPECT_EQ(profile.results().size(), tasks);
}

TEST_F(ProfileTest, OutlivesTheKernelsThatItTimed) {
  const Profile profile(device);
  {
    const Kernel gone{"gone", [](View<float> a) { range_for(a.size(), [&](Index i) { a[i] = 1.0f; }); }};
    gone(stream, x);
  }
  stream.synchronize();
  ASSERT_EQ(profile.results().size(), 1u);
  EXPECT_EQ(profile.results()[0].kernel, "gone");
}

TEST_F(ProfileTest, GivesItsEventsBack) {
  for (int i = 0; i < 3; ++i) {
    const Profile profile(device);
    kernel()(stream, x, y);
  }
  stream.synchronize();
  const std::uint32_t events = device.stream_statistics().events_created;
  for (int i = 0; i < 20; ++i) {
    const Profile profile(device);
    kernel()(stream, x, y);
    stream.synchronize();
  }
  EXPECT_LE(device.stream_statistics().events_created, events + 2);
}

TEST_F(ProfileTest, ThreadsProfileSideBySide) {
  std::atomic<std::size_t> timed{0};
  const int launches = test::rounds_of(20);
  test::on_threads(4, [&](int) {
    const Stream own = device.create_stream();
    Array<float> a = device.array<float>(own, 1000), b = device.array<float>(own, 1000);
    a.fill(own, 0.0f);
    b.fill(own, 0.0f);
    const Profile profile(device);
    for (int i = 0; i < launches; ++i) kernel()(own, a, b);
    own.synchronize();
    timed += profile.results().size();
  });
  EXPECT_EQ(timed, 4 * static_cast<std::size_t>(launches) * tasks);
}

}  // namespace
}  // namespace weir
