// SPDX-License-Identifier: Apache-2.0
// Layers as users apply them: enabled by code, with kernels of the language. There is a fault layer above and
// one below the checks. The upper one drops calls of the core; the lower one fails calls of the driver.
#include "support/api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "thrown_by.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const bool layered = use_layers("fault,validate,fault");

class Api : public ::testing::Test {
 protected:
  Device device = open("cpu");
  Layer lost = layers(device).at(0), checks = layers(device).at(1), faults = layers(device).at(2);

  void SetUp() override {
    lost.configure("");
    faults.configure("");
    checks.configure("");
    ReportLog::get().take();
  }
  void TearDown() override {
    lost.configure("");
    faults.configure("");
  }
  static void expect_race(const ::testing::Matcher<std::string>& words) {
    const std::vector<LayerReport> reports = ReportLog::get().take();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].layer, "validate");
    EXPECT_EQ(reports[0].driver, "cpu");
    EXPECT_EQ(reports[0].rule, "race");
    EXPECT_THAT(reports[0].message, words);
  }
  static void expect_none() {
    for (const LayerReport& report : ReportLog::get().take()) ADD_FAILURE() << report.message;
  }
};

std::string here(unsigned line) {
  return "api_test.cpp:" + std::to_string(line);
}

unsigned move_line = 0, look_line = 0;

Kernel<void(View<float>, Value<float>)> make_move() {
  return {"move",
          [](View<float> x, Value<float> by) {
            move_line = __LINE__ + 1;
            range_for(x.size(), [&](Index i) { x[i] = x[i] + by; });
          },
          {.parameter_names = {"position", "by"}}};
}
Kernel<void(View<const float>, View<float>)> make_look() {
  return {"look",
          [](View<const float> from, View<float> to) {
            look_line = __LINE__ + 1;
            range_for(to.size(), [&](Index i) { to[i] = from[i]; });
          },
          {.parameter_names = {"seen", "picture"}}};
}

TEST_F(Api, TheLayersAreNamed) {
  EXPECT_EQ(lost.name(), "fault");
  EXPECT_EQ(checks.name(), "validate");
  EXPECT_THAT(checks.library(), HasSubstr("libweir-layer-validate.so"));
  EXPECT_EQ(layers(device).size(), 3u);
  EXPECT_THAT(thrown_by([&] { (void)checks.get("speed"); }).what(), HasSubstr("has no counter 'speed'"));
  EXPECT_THAT(thrown_by([&] { checks.configure("speed=2"); }).what(),
              HasSubstr("there is no option 'speed'"));
  EXPECT_THAT(thrown_by([] { set_layers("validate"); }).what(),
              HasSubstr("after the drivers of the process were loaded"));
}

// proves R35
TEST_F(Api, AMissingWaitIsReportedWithBothKernelsTheArraysAndTheLines) {
  auto move = make_move();
  auto look = make_look();
  const Stream first = device.create_stream(), second = device.create_stream();
  auto x = device.array<float>(first, 1000), picture = device.array<float>(second, 1000);
  move(first, x, 1.0f);
  look(second, x, picture);  // second.wait(first) is missing
  device.synchronize();
  expect_race(AllOf(HasSubstr("kernel 'look'"), HasSubstr(here(look_line)), HasSubstr("reads 'seen'"),
                    HasSubstr("kernel 'move'"), HasSubstr(here(move_line)), HasSubstr("as 'position'")));
}

TEST_F(Api, ArraysWithoutANameHaveThatOfAllMessages) {
  const Kernel add{"add", [](View<const float> from, View<float> to) {
                     range_for(to.size(), [&](Index i) { to[i] = to[i] + from[i]; });
                   }};
  const Stream first = device.create_stream(), second = device.create_stream();
  auto x = device.array<float>(first, 1000), y = device.array<float>(first, 1000);
  second.wait(first);
  add(first, x, y);
  add(second, y, x);  // second.wait(first) is missing
  device.synchronize();
  const std::vector<LayerReport> reports = ReportLog::get().take();
  ASSERT_FALSE(reports.empty());
  for (const LayerReport& report : reports)
    EXPECT_THAT(report.message, AllOf(HasSubstr("'p0'"), HasSubstr("'p1'")));
}

TEST_F(Api, WithTheWaitThereIsNothingToReport) {
  auto move = make_move();
  auto look = make_look();
  const Stream first = device.create_stream(), second = device.create_stream();
  auto x = device.array<float>(first, 1000), picture = device.array<float>(second, 1000);
  move(first, x, 1.0f);
  second.wait(first);
  look(second, x, picture);
  first.wait(second);
  move(first, x, 1.0f);
  device.synchronize();
  expect_none();
}

TEST_F(Api, SlicesOfOneArrayMayBeUsedSideBySide) {
  auto move = make_move();
  const Stream first = device.create_stream(), second = device.create_stream();
  auto x = device.array<float>(first, 1000);
  second.wait(first);
  move(first, x.slice(0, 500), 1.0f);
  move(second, x.slice(500, 1000), 1.0f);
  device.synchronize();
  expect_none();
  move(first, x.slice(0, 501), 1.0f);
  move(second, x.slice(500, 1000), 1.0f);
  device.synchronize();
  expect_race(HasSubstr("bytes 2000 to 2004"));
}

TEST_F(Api, RowsOfOneArrayMayBeUsedSideBySide) {
  // Row i of the result needs the rows before and after it, as in an exchange of halos behind the interior.
  const Kernel blur{"blur", [](View<const float, 2> from, View<float, 2> to, Index begin, Index end) {
                      range_for(range(begin, end), from.extent(1),
                                [&](Index i, Index j) { to(i, j) = from(i - 1, j) + from(i + 1, j); });
                    }};
  const Stream first = device.create_stream(), second = device.create_stream();
  auto a = device.array<float>(first, 10, 100), b = device.array<float>(first, 10, 100);
  second.wait(first);
  const auto with_the_last_row_on_the_other_stream = [&](std::int64_t begin, std::int64_t end) {
    blur(first, a, b, begin, end);
    a.slice(9, 10).fill(second, 0.0f);
    device.synchronize();
  };
  with_the_last_row_on_the_other_stream(2, 8);
  with_the_last_row_on_the_other_stream(5, 5);
  expect_none();
  with_the_last_row_on_the_other_stream(2, 9);
  expect_race(HasSubstr("bytes 3600 to 4000"));
}

// As in an exchange of halos along columns behind the interior.
TEST_F(Api, ColumnsOfOneArrayMayBeUsedSideBySide) {
  const Kernel blur{
      "blur", [](View<const float, 3> from, View<float, 3> to, Index begin, Index end) {
        range_for(from.extent(0), range(begin, end), from.extent(2),
                  [&](Index i, Index j, Index k) { to(i, j, k) = from(i, j - 1, k) + from(i, j + 1, k); });
      }};
  const Stream first = device.create_stream(), second = device.create_stream();
  auto a = device.array<float>(first, 4, 10, 3), b = device.array<float>(first, 4, 10, 3);
  const auto halo = device.array<float>(first, 4, 1, 3);
  a.fill(first, 1.0f);
  b.fill(first, 1.0f);
  halo.fill(first, 2.0f);
  second.wait(first);
  const auto with_the_last_column_on_the_other_stream = [&](std::int64_t begin, std::int64_t end) {
    blur(first, a, b, begin, end);
    a.slice(1, 9, 10).copy_from(second, halo);
    b.slice(1, 9, 10).copy_from(second, halo);
    device.synchronize();
  };
  with_the_last_column_on_the_other_stream(2, 8);
  with_the_last_column_on_the_other_stream(5, 5);
  expect_none();
  with_the_last_column_on_the_other_stream(2, 9);  // reads it
  expect_race(
      AllOf(HasSubstr("kernel 'copy'"), HasSubstr("writes"), HasSubstr("'blur'"), HasSubstr("reads as")));
}

// At the edges, clamped indices stay in the array, so their rows are known.
TEST_F(Api, StencilsThatClampTheirIndicesMayRunBesideOtherRowsAndColumns) {
  const Kernel blur{"blur",
                    [](View<const float, 2> from, View<float, 2> to, Index i0, Index i1, Index j0, Index j1) {
                      range_for(range(i0, i1), range(j0, j1), [&](Index i, Index j) {
                        const Index up = max(i - 1, 0), down = min(i + 1, from.extent(0) - 1);
                        const Index left = max(j - 1, 0), right = min(j + 1, from.extent(1) - 1);
                        to(i, j) = from(up, j) + from(down, j) + from(i, left) + from(i, right);
                      });
                    }};
  const Stream first = device.create_stream(), second = device.create_stream();
  auto a = device.array<float>(first, 10, 12), b = device.array<float>(first, 10, 12);
  const auto column = device.array<float>(first, 10, 1);
  a.fill(first, 1.0f);
  column.fill(first, 2.0f);
  second.wait(first);
  const auto beside = [&](std::int64_t i1, std::int64_t j1) {
    blur(first, a, b, 0, i1, 0, j1);
    a.slice(9, 10).fill(second, 0.0f);
    a.slice(1, 11, 12).copy_from(second, column);
    device.synchronize();
  };
  beside(8, 10);
  expect_none();
  beside(9, 10);  // reads the last row
  expect_race(HasSubstr("fill"));
  beside(8, 11);  // reads the last column
  expect_race(HasSubstr("kernel 'copy'"));
}

// Regions, scratch memory, reductions and asserts, with both executors.
TEST_F(Api, LaunchesOfManyTasksDoNotRaceWithThemselves) {
  Kernel step{"step", [](View<float> u, View<float> v, View<float> sums, View<std::int32_t> counts) {
                stream_parallel([&] {
                  Value<float> s = reduce_sum(u.size(), [&](Index i) { return u[i]; });
                  range_for(u.size(), [&](Index i) { u[i] = u[i] + s; });
                  sums[0] = s;
                });
                stream_parallel([&] {
                  Value<float> s = reduce_sum(v.size(), [&](Index i) { return v[i]; });
                  range_for(v.size(), [&](Index i) { v[i] = v[i] - s; });
                });
                range_for(u.size(), [&](Index i) {
                  atomic_add(counts[i % 4], 1);
                  assert_(u[i] < 1e30f, "too large");
                });
              }};
  for (const LaunchMode mode : {LaunchMode::streams, LaunchMode::graph, LaunchMode::automatic}) {
    const Stream first = device.create_stream(), second = device.create_stream();
    auto u = device.array<float>(first, 1000), v = device.array<float>(first, 1000),
         sums = device.array<float>(first, 1);
    auto w = device.array<float>(second, 1000), z = device.array<float>(second, 1000),
         more = device.array<float>(second, 1);
    auto counts = device.array<std::int32_t>(first, 4);
    for (auto* array : {&u, &v, &sums}) array->fill(first, 0.0f);
    for (auto* array : {&w, &z, &more}) array->fill(second, 0.0f);
    counts.fill(first, 0);
    second.wait(first);
    for (int i = 0; i < 20; ++i) {
      step(LaunchOptions{.mode = mode}, first, u, v, sums, counts);
      step(LaunchOptions{.mode = mode}, second, w, z, more, counts);  // both count with atomics
    }
    device.synchronize();
    expect_none();
  }
}

// The pool reuses memory after events. Without one of its waits, the next use of the block races with the
// previous one.
// proves R2, R8
TEST_F(Api, AWaitThatThePoolForgetsIsFound) {
  auto move = make_move();
  const Stream first = device.create_stream(), second = device.create_stream();
  for (const bool forget : {false, true}) {
    lost.configure(forget ? "call=stream_wait_event:times=forever:result=ok" : "");
    auto x = device.array<float>(first, 100'000);
    move(second, x, 1.0f);  // the pool makes `second` wait for the block's order in `first`
    first.synchronize();
    second.synchronize();
    lost.configure("");
    device.synchronize();
    x = {};
    device.trim_memory();
    if (!forget)
      expect_none();
    else
      expect_race(AllOf(HasSubstr("kernel 'move'"), HasSubstr("before its allocation on stream")));
  }
}

// proves R2, R8
TEST_F(Api, MemoryThatIsReusedTooEarlyIsFound) {
  auto move = make_move();
  const Stream first = device.create_stream(), second = device.create_stream();
  for (const bool forget : {false, true}) {
    faults.configure(
        "memory=1M");  // too small for two arrays: the second reuses the first one's block from a busy stream
    std::atomic<bool> go_on{false};
    {
      auto x = device.array<float>(first, 200'000);
      first.call_host([&] {
        while (!go_on) std::this_thread::yield();
      });
      move(first, x, 1.0f);
    }
    lost.configure(forget ? "call=stream_wait_event:times=forever:result=ok" : "");
    auto y = device.array<float>(second, 200'000);
    move(second, y, 2.0f);
    lost.configure("");
    go_on = true;
    device.synchronize();
    y = {};
    faults.configure("");
    device.trim_memory();
    if (!forget) {
      expect_none();
      continue;
    }
    std::vector<std::string> messages;
    for (const LayerReport& report : ReportLog::get().take()) messages.push_back(report.message);
    EXPECT_THAT(messages,
                ::testing::Contains(AllOf(HasSubstr("kernel 'move'"), HasSubstr("nothing orders them"))));
  }
}

TEST_F(Api, PrecompiledKernelsRaceWithKnownAccesses) {
  Kernel zero{"zero", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = 0.0f; }); }};
  const Stream first = device.create_stream(), second = device.create_stream();
  auto x = device.array<float>(first, 1000);
  second.wait(first);
  zero(first, x);
  x.fill(second, 1.0f);
  device.synchronize();
  expect_race(AllOf(HasSubstr("fill on stream"), HasSubstr("kernel 'zero'")));
}

TEST_F(Api, IntendedConflictsOfBlocksAreNotReported) {
  Kernel halves{"halves", [](View<float> x) {
                  stream_parallel(conflicts_are_meant,
                                  [&] { range_for(x.size() / 2, [&](Index i) { x[i * 2] = 1.0f; }); });
                  stream_parallel(conflicts_are_meant,
                                  [&] { range_for(x.size() / 2, [&](Index i) { x[i * 2 + 1] = 2.0f; }); });
                }};
  const Stream stream = device.create_stream();
  auto x = device.array<float>(stream, 1000);
  halves(stream, x);
  stream.synchronize();
  expect_none();
}

// proves R34
TEST_F(Api, AnIllegalAddressSurfacesAtTheNextCallAndNamesTheKernel) {
  auto move = make_move();
  const Stream stream = device.create_stream(), other = device.create_stream();
  auto x = device.array<float>(stream, 1000), y = device.array<float>(other, 1000);
  move(stream, x, 1.0f);
  faults.configure("call=kernel_launch:result=illegal_address:late");
  move(stream, x, 1.0f);
  move(other, y, 1.0f);
  other.synchronize();
  const Error error = thrown_by([&] { stream.synchronize(); });
  EXPECT_EQ(error.code(), ErrorCode::illegal_address);
  EXPECT_EQ(error.kernel(), "move");
  EXPECT_THAT(error.what(), AllOf(HasSubstr("'move'"), HasSubstr("was made to fail")));
  stream.synchronize();
  expect_none();
}

// proves R34
TEST_F(Api, ALaunchThatFailsNamesTheKernelAndTheNextOneWorks) {
  auto move = make_move();
  const Stream stream = device.create_stream();
  auto x = device.array<float>(stream, 1000);
  x.fill(stream, 0.0f);
  move(stream, x, 1.0f);
  faults.configure("call=kernel_launch:result=launch");
  const Error error = thrown_by([&] { move(stream, x, 1.0f); });
  EXPECT_EQ(error.code(), ErrorCode::launch);
  EXPECT_EQ(error.kernel(), "move");
  move(stream, x, 1.0f);
  EXPECT_EQ(x.to_host(stream)[999], 2.0f);
  expect_none();
}

struct Pair {
  float first;
  double second;
};

// The members share memory in these layouts, but no bytes.
TEST_F(Api, BlocksThatUseDifferentMembersOfStructsDoNotRace) {
  const Stream stream = device.create_stream(), other = device.create_stream();
  Kernel kernel{
      "members",
      [](View<Pair> pairs) {
        stream_parallel([&] { range_for(pairs.size(), [&](Index i) { pairs[i][&Pair::first] = 1; }); });
        stream_parallel([&] { range_for(pairs.size(), [&](Index i) { pairs[i][&Pair::second] = 2; }); });
      },
      KernelOptions{.phases = false}};
  Kernel after{"after", [](View<Pair> pairs) {
                 range_for(pairs.size(), [&](Index i) { pairs[i][&Pair::first] = 3; });
               }};
  for (const Layout layout : {Layout::array_of_structs(), Layout::blocks(16)}) {
    checks.configure("");  // forgets earlier reports, which are not repeated
    StructArray<Pair> pairs(stream, 1000, layout);
    kernel(LaunchOptions{.mode = LaunchMode::graph}, stream, pairs);
    expect_none();
    after(other, pairs);
    EXPECT_FALSE(ReportLog::get().take().empty()) << "nothing orders the streams";
    stream.synchronize();
    other.synchronize();
  }
}

// proves R34
TEST_F(Api, OutOfMemoryAtALimitSaysSoAndNothingLeaks) {
  device.synchronize();
  device.trim_memory();
  const std::uint64_t before = checks.get("live.allocation");
  faults.configure("memory=2M");
  const Stream stream = device.create_stream();
  {
    auto x = device.array<float>(stream, 250'000);
    const Error error = thrown_by([&] { auto y = device.array<float>(stream, 500'000); });
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_THAT(error.what(), HasSubstr("of the limit of 2097152 bytes"));
    x.fill(stream, 1.0f);
    EXPECT_EQ(x.to_host(stream)[0], 1.0f);
  }
  device.synchronize();
  device.trim_memory();
  EXPECT_EQ(checks.get("live.allocation"), before);
  expect_none();
}

}  // namespace
}  // namespace weir::test
