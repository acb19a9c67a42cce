// SPDX-License-Identifier: Apache-2.0
// The trace of several ranks, which are threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <weir/distributed_profile.hpp>
#include <weir/weir.hpp>

#include "rank_environment.hpp"
#include "tested_device.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Runs body(world, stream) on each of three ranks.
void on_three_ranks(const std::function<void(const Communicator&, const StreamRef&)>& body) {
  const Ranks ranks("3");
  const Device device = open(tested_device());
  run_ranks([&] {
    const Communicator world = join();
    body(world, device.create_stream());
  });
}

TEST(DistributedProfile, ATraceHasAGroupOfRowsForEachRank) {
  const std::filesystem::path path = testing::TempDir() + "weir-trace-" + std::to_string(getpid()) + ".json";
  on_three_ranks([&](const Communicator& world, const StreamRef& stream) {
    std::vector<TaskTime> times(world.rank() + 1);
    for (TaskTime& time : times)
      time.kernel = "k" + std::to_string(world.rank()), time.task = "t", time.duration = 1;
    write_trace(world, stream, path, times, "\"storm\"");
    EXPECT_TRUE(std::filesystem::exists(path));  // on return, on every rank
  });
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::filesystem::remove(path);
  std::vector<std::string> names;
  std::vector<int> tasks(3);
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") names.push_back(event["args"]["name"]);
    if (event["ph"] != "X") continue;
    const int rank = event["pid"].get<int>() - 1;
    EXPECT_EQ(event["args"]["kernel"], "k" + std::to_string(rank));
    ++tasks.at(static_cast<std::size_t>(rank));
  }
  EXPECT_THAT(names, ElementsAre("rank 0: \"storm\"", "rank 1: \"storm\"", "rank 2: \"storm\""));
  EXPECT_THAT(tasks, ElementsAre(1, 2, 3));
}

TEST(DistributedProfile, ATraceThatCannotBeWrittenEndsAllRanks) {
  std::atomic<int> failed{0};
  EXPECT_THAT(thrown_by([&] {
                on_three_ranks([&](const Communicator& world, const StreamRef& stream) {
                  try {
                    write_trace(world, stream, "/proc/weir/trace.json", {}, "storm");
                  } catch (const Error&) {
                    ++failed;
                    throw;
                  }
                });
              }).what(),
              HasSubstr("/proc/weir/trace.json: cannot write the trace"));
  EXPECT_EQ(failed, 3);
}

}  // namespace
}  // namespace weir::test
