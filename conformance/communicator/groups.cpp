// SPDX-License-Identifier: Apache-2.0
// Level 1: joining and leaving.
#include <thread>

#include "communicator/ranks.hpp"

namespace weir::conformance {
namespace {

WEIR_RANK_REQUIREMENT(
    1, 01, Groups, AGroupHasTheRanksThatJoined,
    "group_join returns a group with the caller's rank and the number of ranks, without a failure.", {}) {
  weir_group_info info{};
  info.struct_size = sizeof info;
  self.expect_ok(self.table.group_get_info(self.group, &info, &self.status), "group_get_info");
  self.expect(info.rank == self.rank && info.size == self.size,
              "group_get_info returned rank " + std::to_string(info.rank) + " of " +
                  std::to_string(info.size) + "; expected rank " + std::to_string(self.rank) + " of " +
                  std::to_string(self.size));
  self.expect(info.failed_rank == -1, "a new group has the failed rank " + std::to_string(info.failed_rank));
  self.expect_group_works();
}

WEIR_RANK_REQUIREMENT(1, 02, Groups, GroupsAreIndependent,
                      "Ranks may be in several groups at a time, whose operations do not meet each other.",
                      {}) {
  const weir_group first = self.group, second = self.join(" second");
  for (int round = 0; round < 5; ++round)
    for (const weir_group group : {second, first}) {
      self.group = group;
      self.expect_group_works();
    }
  self.leave(second);
  self.group = first;
  self.expect_group_works();
}

WEIR_RANK_REQUIREMENT(1, 03, Groups, RanksJoinAgain,
                      "After all ranks have left a group, they may join another.", {.joins = false}) {
  for (int round = 0; round < 3; ++round) {
    self.group = self.join(" round " + std::to_string(round));
    self.expect_group_works();
    self.leave(self.group);
    self.group = nullptr;
  }
}

WEIR_RANK_REQUIREMENT(
    1, 04, Groups, NullIsRefused,
    "Null for a group, options or an output is refused with WEIR_ERROR_INVALID and a message.", {}) {
  weir_group joined = nullptr;
  const weir_group_options options = self.options(" null");
  self.expect_result(self.table.group_join(nullptr, &joined, &self.status), WEIR_ERROR_INVALID,
                     "group_join(null)");
  self.expect_result(self.table.group_join(&options, nullptr, &self.status), WEIR_ERROR_INVALID,
                     "group_join without an output");
  self.expect_result(self.table.group_leave(nullptr, &self.status), WEIR_ERROR_INVALID, "group_leave(null)");
  self.expect_result(self.table.group_get_info(self.group, nullptr, &self.status), WEIR_ERROR_INVALID,
                     "group_get_info without an output");
  self.expect_result(self.table.barrier(nullptr, nullptr, &self.status), WEIR_ERROR_INVALID, "barrier(null)");
  self.expect_group_works();
}

WEIR_RANK_REQUIREMENT(
    1, 05, Groups, ARankOutsideOfTheGroupIsRefused,
    "group_join refuses a rank of the group's size or more with WEIR_ERROR_INVALID, without waiting.",
    {.joins = false}) {
  weir_group_options options = self.options();
  options.rank = options.size;
  weir_group joined = nullptr;
  const auto begin = Rank::Clock::now();
  self.expect_result(self.table.group_join(&options, &joined, &self.status), WEIR_ERROR_INVALID,
                     "group_join");
  self.expect(Rank::Clock::now() - begin < std::chrono::seconds(5),
              "group_join waited before it refused the rank");
}

WEIR_RANK_REQUIREMENT(
    1, 06, Groups, DifferentLimitsAreRefused,
    "If ranks give different limits, all of those that waited fail with WEIR_ERROR_INVALID or, where "
    "the others failed first, WEIR_ERROR_RANK.",
    {.limit_ms = 1500, .joins = false, .min_ranks = 2}) {
  weir_group_options options = self.options();
  if (self.rank == 1) options.limit += 500'000'000;
  weir_group joined = nullptr;
  const weir_result result = self.table.group_join(&options, &joined, &self.status);
  if (static_cast<int>(result) != WEIR_ERROR_RANK)
    self.expect_result(result, WEIR_ERROR_INVALID, "group_join with another limit than the others");
}

WEIR_RANK_REQUIREMENT(
    1, 07, Groups, AMissingRankIsNamed,
    "If a rank does not join within the limit, group_join fails with WEIR_ERROR_RANK and names it.",
    {.limit_ms = 1500, .joins = false, .min_ranks = 2}) {
  if (self.rank == self.size - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3000));
    return;
  }
  const weir_group_options options = self.options();
  weir_group joined = nullptr;
  const auto begin = Rank::Clock::now();
  self.expect_rank_error(self.table.group_join(&options, &joined, &self.status), "group_join", self.size - 1);
  const std::chrono::duration<double> took = Rank::Clock::now() - begin;
  self.expect(took < std::chrono::seconds(4),
              "it took " + std::to_string(took.count()) + " s; the limit is 1.5 s");
}

}  // namespace
}  // namespace weir::conformance
