// SPDX-License-Identifier: Apache-2.0
// Figures of profiles: totals, medians, bytes and rates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <weir/weir.hpp>

#include "tested_device.hpp"

namespace weir {
namespace {

using testing::HasSubstr;

TEST(ProfileSummary, GroupsByKernelAndTaskWithTheLargestTotalFirst) {
  const std::vector<TaskTime> times = {{"k", "a", 0, -1, -1, 0, 10, 100},
                                       {"k", "b", 1, -1, -1, 5, 40, 400},
                                       {"k", "a", 0, -1, -1, 50, 30, 100},
                                       {"l", "a", 0, -1, -1, 90, 10, 0},
                                       {"k", "a", 0, -1, -1, 80, 11, 100}};
  const ProfileSummary summary = summarize(times);
  EXPECT_EQ(summary.runs, 5u);
  EXPECT_DOUBLE_EQ(summary.busy, 101);
  EXPECT_DOUBLE_EQ(summary.span, 100);
  EXPECT_DOUBLE_EQ(summary.concurrency(), 1.01);
  ASSERT_EQ(summary.tasks.size(), 3u);
  const TaskSummary& first = summary.tasks[0];
  EXPECT_EQ(first.kernel + first.task, "ka");
  EXPECT_EQ(first.runs, 3u);
  EXPECT_DOUBLE_EQ(first.total, 51);
  EXPECT_DOUBLE_EQ(first.median, 11);
  EXPECT_DOUBLE_EQ(first.mean(), 17);
  EXPECT_DOUBLE_EQ(first.shortest, 10);
  EXPECT_DOUBLE_EQ(first.longest, 30);
  EXPECT_EQ(first.bytes, 300u);
  EXPECT_DOUBLE_EQ(first.rate(), 300.0 / 51);
  EXPECT_EQ(summary.tasks[1].task, "b");
  EXPECT_EQ(summary.tasks[2].kernel, "l");
  EXPECT_EQ(summary.tasks[2].rate(), 0);
}

TEST(ProfileSummary, SpansTasksThatBeganBeforeTheZeroOfTheirTimes) {
  EXPECT_DOUBLE_EQ(summarize(std::vector<TaskTime>{{"k", "a", 0, -1, -1, -50, 10, 0}}).span, 10);
}

TEST(ProfileSummary, TheMedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  std::vector<TaskTime> times;
  for (const double duration : {9.0, 1.0, 5.0, 3.0}) times.push_back({"k", "a", 0, -1, -1, 0, duration});
  EXPECT_DOUBLE_EQ(summarize(times).tasks.at(0).median, 4);
}

TEST(ProfileSummary, OfNothingIsEmpty) {
  const ProfileSummary summary = summarize({});
  EXPECT_EQ(summary.runs, 0u);
  EXPECT_EQ(summary.span, 0);
  EXPECT_EQ(summary.concurrency(), 0);
  EXPECT_THAT(to_string(summary), HasSubstr("0 tasks"));
}

TEST(ProfileSummary, PrintsOneLinePerTask) {
  const std::vector<TaskTime> times = {{"k", "a", 0, -1, -1, 0, 3e6, 6'000'000},
                                       {"k", "b", 0, -1, -1, 3e6, 1e6}};
  const std::string table = to_string(summarize(times));
  EXPECT_THAT(table, HasSubstr("2 tasks in 4.00 ms, busy for 4.00 ms (1.00 at a time)\n"));
  EXPECT_THAT(table, HasSubstr(" 75.0%         1     3.00 ms     3.00 ms       2.00  k: a\n"));
  EXPECT_THAT(table, HasSubstr(" 25.0%         1     1.00 ms     1.00 ms          -  k: b\n"));
}

class ProfileBytes : public testing::Test {
 protected:
  ProfileBytes() {
    for (const auto* array : {&x, &y, &z}) array->fill(0.0f);
    table.fill(0.0);
  }
  /// The bytes of the tasks of one launch, in order.
  template <class Kernel, class... Arguments>
  std::vector<std::uint64_t> bytes(const Kernel& kernel, const Arguments&... arguments) {
    const Profile profile(device);
    kernel(arguments...);
    device.synchronize();
    std::vector<std::uint64_t> result;
    for (const TaskTime& time : profile.results()) result.push_back(time.bytes);
    return result;
  }

  Device device = open(test::tested_device());
  static constexpr std::uint64_t n = 1000;
  Array<float> x = device.array<float>(n), y = device.array<float>(n), z = device.array<float>(n);
  Array<double> table = device.array<double>(16);
};

TEST_F(ProfileBytes, AreTheElementsLoadedAndStored) {
  Kernel triad{"triad", [](View<float> a, View<float> b, View<float> c) {
                 range_for(a.size(), [&](Index i) { a[i] = b[i] + 3.0f * c[i]; });
               }};
  EXPECT_THAT(bytes(triad, x, y, z), testing::ElementsAre(3 * 4 * n));
}

TEST_F(ProfileBytes, CountAnElementOfAnIterationOnceAndAnArrayAtMostOnce) {
  Kernel stencil{"stencil", [](View<float> a, View<float> b, View<double> t) {
                   range_for(range(1, a.size() - 1), [&](Index i) {
                     a[i] = b[i - 1] + b[i] + b[i + 1] + b[i] * b[i] + cast<float>(t[i % 16]);
                   });
                 }};
  EXPECT_THAT(bytes(stencil, x, y, table), testing::ElementsAre((n - 2) * 4 + n * 4 + 16 * 8));
}

TEST_F(ProfileBytes, OfAPartAreThoseOfThePart) {
  Kernel head{"head", [](View<float> a, Value<std::int64_t> count) {
                range_for(count, [&](Index i) { a[i] = a[i] + 1.0f; });
              }};
  EXPECT_THAT(bytes(head, x, std::int64_t{10}), testing::ElementsAre(2 * 4 * 10));
  EXPECT_THAT(bytes(head, x, std::int64_t{0}), testing::IsEmpty());
}

TEST_F(ProfileBytes, OfInnerLoopsAreThoseOfTheArray) {
  Kernel rows{"rows", [](View<float> a, View<float> b) {
                range_for(4, [&](Index i) {
                  Var<float> sum = 0.0f;
                  range_for(b.size(), [&](Index k) { sum += b[k]; });
                  a[i] = sum;
                });
              }};
  EXPECT_THAT(bytes(rows, x, y), testing::ElementsAre(4 * 4 + n * 4));
}

TEST_F(ProfileBytes, OfAtomicsAreReadAndWritten) {
  Kernel count{"count", [](View<float> a, View<float> b) {
                 range_for(b.size(), [&](Index i) { atomic_add(a[i], b[i]); });
               }};
  EXPECT_THAT(bytes(count, x, y), testing::ElementsAre(3 * 4 * n));
}

TEST_F(ProfileBytes, OfCopiesAndFills) {
  const auto elements = device.array<Vec<float, 3>>(10);
  std::vector<float> host(n);
  const auto task = [](const TaskTime& time) { return time.kernel + ": " + time.task; };
  std::vector<std::string> names;
  std::vector<std::uint64_t> sizes;
  {
    const Profile profile(device);
    x.copy_from(std::span<const float>(host));
    x.copy_to(std::span<float>(host));
    y.copy_from(x);
    y.fill(1.0f);
    elements.fill(Vec<float, 3>{1, 2, 3});  // several fills and copies of the driver
    y.slice(0, 0).fill(2.0f);               // nothing is submitted
    device.synchronize();
    for (const TaskTime& time : profile.results()) {
      names.push_back(task(time));
      sizes.push_back(time.bytes);
    }
  }
  EXPECT_THAT(names, testing::ElementsAre("copy: to the device", "copy: to the host", "copy: on the device",
                                          "fill: fill", "fill: fill"));
  EXPECT_THAT(sizes, testing::ElementsAre(4 * n, 4 * n, 2 * 4 * n, 4 * n, 10 * 12));
}

TEST_F(ProfileBytes, OfCopiesAndFillsInAGraph) {
  const auto elements = device.array<Vec<float, 3>>(10);
  std::vector<float> host(n);
  GraphBuilder builder(device);
  builder.copy_from(x, host);
  builder.copy_to(x, host);
  builder.copy(y, x);
  builder.fill(y, 1.0f);
  builder.fill(elements, Vec<float, 3>{1, 2, 3});
  builder.fill(y.slice(0, 0), 2.0f);
  const Graph graph = builder.build();
  std::vector<std::string> names;
  std::vector<std::uint64_t> sizes;
  {
    const Profile profile(device);
    graph.launch(device.default_stream());
    device.synchronize();
    for (const TaskTime& time : profile.results()) {
      names.push_back(time.kernel + ": " + time.task);
      sizes.push_back(time.bytes);
    }
  }
  EXPECT_THAT(names, testing::ElementsAre("copy: to the device", "copy: to the host", "copy: on the device",
                                          "fill: fill", "fill: fill"));
  EXPECT_THAT(sizes, testing::ElementsAre(4 * n, 4 * n, 2 * 4 * n, 4 * n, 10 * 12));
}

TEST_F(ProfileBytes, AreTheSameInAGraph) {
  Kernel triad{"triad", [](View<float> a, View<float> b, View<float> c) {
                 range_for(a.size(), [&](Index i) { a[i] = b[i] + 3.0f * c[i]; });
               }};
  GraphBuilder builder(device);
  builder.launch(triad, x, y, z);
  const Graph graph = builder.build();
  EXPECT_THAT(bytes([&] { graph.launch(device.default_stream()); }), testing::ElementsAre(3 * 4 * n));
}

TEST_F(ProfileBytes, ARunIsSummarizedInOneCall) {
  Kernel scale{"scale", [](View<float> a) { range_for(a.size(), [&](Index i) { a[i] = a[i] * 2.0f; }); }};
  scale(x);
  const ProfileSummary summary = profile(device, [&] {
    for (int i = 0; i < 5; ++i) scale(x);
  });
  scale(x);  // after the profile
  ASSERT_EQ(summary.tasks.size(), 1u);
  EXPECT_EQ(summary.tasks[0].kernel, "scale");
  EXPECT_EQ(summary.tasks[0].runs, 5u);
  EXPECT_EQ(summary.tasks[0].bytes, 5 * 2 * 4 * n);
  EXPECT_GE(summary.span, summary.tasks[0].total);
}

TEST_F(ProfileBytes, AProfileWritesItsTrace) {
  Kernel scale{"scale", [](View<float> a) { range_for(a.size(), [&](Index i) { a[i] = a[i] * 2.0f; }); }};
  Profile watch(device);
  scale(x);
  device.synchronize();
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weir-trace-" + std::to_string(::getpid()) + ".json");
  watch.write_trace(path);
  const nlohmann::json trace = nlohmann::json::parse(std::ifstream(path));
  std::filesystem::remove(path);
  EXPECT_EQ(trace["traceEvents"].back()["args"]["kernel"], "scale");
  EXPECT_THAT(trace["traceEvents"][0]["args"]["name"].get<std::string>(), HasSubstr(device.name()));
}

}  // namespace
}  // namespace weir
