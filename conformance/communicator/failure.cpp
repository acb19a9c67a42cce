// SPDX-License-Identifier: Apache-2.0
// Level 4: wrong calls, and ranks that leave, abort, hang or end.
#include <signal.h>

#include <thread>

#include "communicator/ranks.hpp"

namespace weir::conformance {
namespace {

using namespace std::chrono_literals;
using Values = std::vector<std::int32_t>;

weir_result sum(Rank& self, Values& values) {
  const weir_memory memory = host_memory(values);
  return self.table.all_reduce(self.group, &memory, &memory, values.size(), WEIR_I32, WEIR_SUM, nullptr,
                               &self.status);
}

double seconds_since(Rank::Clock::time_point begin) {
  return std::chrono::duration<double>(Rank::Clock::now() - begin).count();
}

void expect_within(Rank& self, Rank::Clock::time_point begin, double max_seconds, const char* call) {
  const double took = seconds_since(begin);
  self.expect(took < max_seconds, std::string(call) + " failed after " + std::to_string(took) +
                                      " s; expected less than " + std::to_string(max_seconds) + " s");
}

void expect_failed_rank(Rank& self, std::int32_t culprit) {
  weir_group_info info{};
  info.struct_size = sizeof info;
  self.expect_ok(self.table.group_get_info(self.group, &info, &self.status), "group_get_info");
  self.expect(info.failed_rank == culprit || info.failed_rank == -1,
              "group_get_info names the failed rank " + std::to_string(info.failed_rank) + "; expected " +
                  std::to_string(culprit) + " or -1");
}

WEIR_RANK_REQUIREMENT(4, 01, Arguments, WrongArgumentsAreRefusedAndTheGroupWorksOn,
                      "A rank, type or reduction that does not exist, and null for memory, are refused with "
                      "WEIR_ERROR_INVALID. The group is not harmed.",
                      {}) {
  Values values(4, 1);
  const weir_memory memory = host_memory(values), nothing{nullptr, nullptr, 0, nullptr};
  weir_status* const status = &self.status;
  self.expect_result(self.table.broadcast(self.group, &memory, 4, self.size, nullptr, status),
                     WEIR_ERROR_INVALID, "broadcast with a root outside of the group");
  self.expect_result(self.table.broadcast(self.group, nullptr, 4, 0, nullptr, status), WEIR_ERROR_INVALID,
                     "broadcast without memory");
  self.expect_result(self.table.broadcast(self.group, &nothing, 4, 0, nullptr, status), WEIR_ERROR_INVALID,
                     "broadcast with null memory");
  self.expect_result(
      self.table.all_reduce(self.group, &memory, &memory, 1, WEIR_F64 + 1, WEIR_SUM, nullptr, status),
      WEIR_ERROR_INVALID, "all_reduce of an unknown type");
  self.expect_result(
      self.table.all_reduce(self.group, &memory, &memory, 1, WEIR_I32, WEIR_MAX + 1, nullptr, status),
      WEIR_ERROR_INVALID, "all_reduce with an unknown reduction");
  const weir_transfer transfer{self.size, 0, 4, memory};
  self.expect_result(self.table.exchange(self.group, 1, &transfer, nullptr, status), WEIR_ERROR_INVALID,
                     "exchange with a rank outside of the group");
  self.expect_result(self.table.exchange(self.group, 1, nullptr, nullptr, status), WEIR_ERROR_INVALID,
                     "exchange without transfers");
  self.expect_group_works();
}

WEIR_RANK_REQUIREMENT(4, 02, Arguments, ForeignMemoryIsRefused,
                      "Memory of a driver that is not in `direct` is refused with WEIR_ERROR_UNSUPPORTED.",
                      {}) {
  Values values(4, 1);
  const weir_memory foreign{"no-such-driver", nullptr, 0, values.data()};
  self.expect_result(self.table.broadcast(self.group, &foreign, 4, 0, nullptr, &self.status),
                     WEIR_ERROR_UNSUPPORTED, "broadcast of foreign memory");
  self.expect_group_works();
}

WEIR_RANK_REQUIREMENT(
    4, 03, Failure, ARankThatLeavesIsNamed,
    "An operation that needs a rank which has left fails with WEIR_ERROR_RANK and names it, before "
    "the limit.",
    {.limit_ms = 15'000, .min_ranks = 2}) {
  self.barrier();
  if (self.rank == 1) return;
  Values values(4, 1);
  const auto begin = Rank::Clock::now();
  self.expect_rank_error(sum(self, values), "all_reduce", 1);
  expect_within(self, begin, 8, "all_reduce");
  expect_failed_rank(self, 1);
}

WEIR_RANK_REQUIREMENT(
    4, 04, Failure, AnAbortReachesAllRanksWithItsReason,
    "group_abort ends waiting operations of all ranks with WEIR_ERROR_RANK, the rank and the reason.",
    {.limit_ms = 15'000, .min_ranks = 2}) {
  self.barrier();
  const auto begin = Rank::Clock::now();
  if (self.rank == 1) {
    std::this_thread::sleep_for(200ms);
    self.expect_ok(self.table.group_abort(self.group, "the terrain is flat", &self.status), "group_abort");
  }
  self.expect_rank_error(self.table.barrier(self.group, nullptr, &self.status), "barrier", 1);
  self.expect(self.message().find("the terrain is flat") != std::string::npos,
              "the message '" + self.message() + "' lacks the reason of the abort");
  expect_within(self, begin, 8, "barrier");
  expect_failed_rank(self, 1);
}

WEIR_RANK_REQUIREMENT(4, 05, Failure, TheFirstAbortWins,
                      "A second abort does not replace the reason of the first.",
                      {.limit_ms = 15'000, .min_ranks = 2}) {
  self.barrier();
  if (self.rank == 1) {
    std::this_thread::sleep_for(200ms);  // so that no rank is still in the first barrier
    self.expect_ok(self.table.group_abort(self.group, "the first", &self.status), "group_abort");
  }
  self.expect_rank_error(self.table.barrier(self.group, nullptr, &self.status), "barrier", 1);
  if (self.rank == 0)
    self.expect_ok(self.table.group_abort(self.group, "the second", &self.status), "group_abort");
  self.expect_rank_error(self.table.barrier(self.group, nullptr, &self.status), "barrier", 1);
  self.expect(self.message().find("the first") != std::string::npos,
              "the message is now '" + self.message() + "'");
}

WEIR_RANK_REQUIREMENT(
    4, 06, Failure, AHangingRankIsNamedWithinTheLimit,
    "An operation waits for a rank that makes no call at most for the limit, then fails with "
    "WEIR_ERROR_RANK and names it.",
    {.limit_ms = 1500, .min_ranks = 2}) {
  self.expect_group_works();
  if (self.rank == 1) {
    std::this_thread::sleep_for(3500ms);
    self.expect_rank_error(self.table.barrier(self.group, nullptr, &self.status), "barrier of the late rank",
                           1);
    return;
  }
  const auto begin = Rank::Clock::now();
  Values values(4, 1);
  self.expect_rank_error(sum(self, values), "all_reduce", 1);
  const double took = seconds_since(begin);
  self.expect(took > 1.0, "it waited only " + std::to_string(took) + " s; the limit is 1.5 s");
  expect_within(self, begin, 3, "all_reduce");
  expect_failed_rank(self, 1);
}

WEIR_RANK_REQUIREMENT(
    4, 07, Failure, LaterOperationsFailAtOnce,
    "After a failure, every later operation of the group returns WEIR_ERROR_RANK at once, with the "
    "same message.",
    {.limit_ms = 15'000, .min_ranks = 2}) {
  self.barrier();
  if (self.rank == 1) {
    std::this_thread::sleep_for(200ms);  // so that no rank is still in the first barrier
    self.table.group_abort(self.group, "enough", &self.status);
  }
  self.expect_rank_error(self.table.barrier(self.group, nullptr, &self.status), "barrier", 1);
  const std::string first = self.message();
  const auto begin = Rank::Clock::now();
  Values values(4, 1), all(4 * self.size);
  const weir_memory memory = host_memory(values), to = host_memory(all);
  const weir_transfer transfer{self.right(), 0, 16, memory};
  const auto check = [&](weir_result result, const char* call) {
    self.expect_rank_error(result, call, 1);
    self.expect(self.message() == first,
                std::string(call) + " gave the message '" + self.message() + "' after '" + first + "'");
  };
  check(sum(self, values), "all_reduce");
  check(self.table.exchange(self.group, 1, &transfer, nullptr, &self.status), "exchange");
  check(self.table.broadcast(self.group, &memory, 16, 0, nullptr, &self.status), "broadcast");
  check(self.table.all_gather(self.group, &to, &memory, 16, nullptr, &self.status), "all_gather");
  check(self.table.all_to_all(self.group, &to, &to, 16, nullptr, &self.status), "all_to_all");
  check(self.table.reduce_scatter(self.group, &memory, &to, 4, WEIR_I32, WEIR_SUM, nullptr, &self.status),
        "reduce_scatter");
  check(self.table.barrier(self.group, nullptr, &self.status), "barrier");
  expect_within(self, begin, 2, "seven operations of a failed group");
}

WEIR_RANK_REQUIREMENT(4, 08, Failure, AReceiveWithoutItsSendIsNamed,
                      "A receive whose send does not come fails within the limit and names the sender.",
                      {.limit_ms = 1500, .min_ranks = 2}) {
  self.barrier();
  if (self.rank == 0) {
    Values in(4);
    const weir_transfer receive{1, 1, 16, host_memory(in)};
    const auto begin = Rank::Clock::now();
    self.expect_rank_error(self.table.exchange(self.group, 1, &receive, nullptr, &self.status), "exchange",
                           1);
    expect_within(self, begin, 3, "exchange");
  } else {
    std::this_thread::sleep_for(3500ms);
  }
}

WEIR_RANK_REQUIREMENT(4, 09, Failure, SizesOfATransferMustBeEqual,
                      "If a receive and its send have different sizes, the receiver's exchange fails with "
                      "WEIR_ERROR_RANK, and nothing is written outside of its memory.",
                      {.limit_ms = 3000, .min_ranks = 2}) {
  self.barrier();
  if (self.rank > 1) return;
  Values values(8, 5);
  const weir_transfer transfer{1 - self.rank, self.rank, self.rank ? 16u : 24u, host_memory(values)};
  const weir_result result = self.table.exchange(self.group, 1, &transfer, nullptr, &self.status);
  if (self.rank == 1) {
    self.expect_result(result, WEIR_ERROR_RANK, "exchange");
    for (std::size_t i = 4; i < 8; ++i)
      self.expect(values[i] == 5, "memory after the receive buffer was overwritten");
  }
}

WEIR_RANK_REQUIREMENT(
    4, 10, Failure, ValidationNamesTheRankWithAnotherCall,
    "In a validating group, another size, type, reduction or root on a rank fails on all ranks with "
    "WEIR_ERROR_RANK and names it.",
    {.limit_ms = 15'000, .validate = true, .min_ranks = 2}) {
  self.expect_group_works();
  Values values(self.rank == 1 ? 3 : 4, 1);
  const auto begin = Rank::Clock::now();
  self.expect_rank_error(sum(self, values), "all_reduce", 1);
  expect_within(self, begin, 8, "all_reduce");
}

WEIR_RANK_REQUIREMENT(4, 11, Failure, ValidationNamesAnotherKindOfCall,
                      "In a validating group, a rank that makes another kind of call is named on all ranks.",
                      {.limit_ms = 15'000, .validate = true, .min_ranks = 2}) {
  self.expect_group_works();
  Values values(4, 1);
  const weir_memory memory = host_memory(values);
  const weir_result result = self.rank == 1
                                 ? self.table.broadcast(self.group, &memory, 16, 0, nullptr, &self.status)
                                 : sum(self, values);
  self.expect_rank_error(result, "a call that differs", 1);
}

WEIR_RANK_REQUIREMENT(
    4, 12, Failure, AnotherThreadMayAbort,
    "group_abort and group_get_info may be called while another thread waits in an operation.",
    {.limit_ms = 15'000, .min_ranks = 2}) {
  self.barrier();
  if (self.rank == 1) std::this_thread::sleep_for(1s);
  std::thread thread;
  if (self.rank == 0)
    thread = std::thread([&] {
      std::this_thread::sleep_for(200ms);
      weir_group_info info{};
      info.struct_size = sizeof info;
      self.table.group_get_info(self.group, &info, nullptr);
      self.table.group_abort(self.group, "from a thread", nullptr);
    });
  const auto begin = Rank::Clock::now();
  const weir_result result = self.table.barrier(self.group, nullptr, &self.status);
  if (thread.joinable()) thread.join();
  self.expect_rank_error(result, "barrier", 0);
  expect_within(self, begin, 8, "barrier");
}

WEIR_RANK_REQUIREMENT(
    4, 13, Failure, AKilledProcessIsNamed,
    "If the process of a rank is killed, the others' operations fail with WEIR_ERROR_RANK within the "
    "limit and name it.",
    {.limit_ms = 3000, .dies = true, .min_ranks = 2}) {
  self.expect_group_works();
  if (self.rank == 1) raise(SIGKILL);
  const auto begin = Rank::Clock::now();
  Values values(4, 1);
  self.expect_rank_error(sum(self, values), "all_reduce", 1);
  expect_within(self, begin, 5, "all_reduce");
}

}  // namespace
}  // namespace weir::conformance
