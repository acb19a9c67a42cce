// SPDX-License-Identifier: Apache-2.0
// Level 3: when operations begin and end.
#include <thread>

#include "communicator/ranks.hpp"

namespace weir::conformance {
namespace {

using namespace std::chrono_literals;

WEIR_RANK_REQUIREMENT(3, 01, Order, NoRankPassesABarrierAlone,
                      "barrier returns after every rank has called it.", {.min_ranks = 2}) {
  for (std::uint32_t last = 0; last < self.size; ++last) {
    self.barrier();
    const auto begin = Rank::Clock::now();
    if (self.rank == last) std::this_thread::sleep_for(300ms);
    self.barrier();
    // The first barrier ends on all ranks within some milliseconds.
    self.expect(Rank::Clock::now() - begin > 200ms,
                "a barrier returned before rank " + std::to_string(last) + " had called it");
  }
}

WEIR_RANK_REQUIREMENT(3, 02, Order, ACompleteOperationNoLongerReadsItsSource,
                      "When an operation without a stream returns, its sources may be changed.", {}) {
  for (int round = 0; round < 30; ++round) {
    std::vector<std::uint64_t> mine(round % 2 ? 20'000 : 20, self.rank * 100 + static_cast<unsigned>(round));
    std::vector<std::uint64_t> all(mine.size() * self.size), in(mine.size());
    const weir_memory to = host_memory(all), from = host_memory(mine);
    const std::uint64_t bytes = mine.size() * sizeof mine[0];
    self.expect_ok(self.table.all_gather(self.group, &to, &from, bytes, nullptr, &self.status), "all_gather");
    std::fill(mine.begin(), mine.end(), 7'777'777);
    for (std::size_t i = 0; i < all.size(); ++i)
      self.expect(all[i] == i / mine.size() * 100 + static_cast<unsigned>(round),
                  "a source was read too late");
    std::fill(mine.begin(), mine.end(), self.rank);
    const weir_transfer transfers[] = {{self.right(), 0, bytes, from},
                                       {self.left(), 1, bytes, host_memory(in)}};
    self.expect_ok(self.table.exchange(self.group, 2, transfers, nullptr, &self.status), "exchange");
    std::fill(mine.begin(), mine.end(), 7'777'777);
    self.expect(in == std::vector<std::uint64_t>(mine.size(), self.left()),
                "the source of a send was read too late");
  }
}

WEIR_RANK_REQUIREMENT(
    3, 03, Order, SequencesOfOperations,
    "Operations of many kinds in a row, with ranks at different speeds, give the right results.", {}) {
  for (std::uint32_t round = 0; round < 60; ++round) {
    if ((self.rank + round) % 5 == 0) std::this_thread::sleep_for(500us);
    std::vector<std::uint32_t> values(1 + round % 9, self.rank + round);
    self.all_reduce(values, WEIR_U32, WEIR_MAX);
    self.expect(values.back() == self.size - 1 + round, "a maximum is wrong");
    const auto all = self.all_gather(std::vector<std::uint32_t>{self.rank * round});
    self.expect(all.back() == (self.size - 1) * round, "a gathered value is wrong");
    const std::uint32_t root = round % self.size;
    std::vector<std::uint32_t> sent{self.rank == root ? round : 99};
    const weir_memory memory = host_memory(sent);
    self.expect_ok(self.table.broadcast(self.group, &memory, sizeof sent[0], root, nullptr, &self.status),
                   "broadcast");
    self.expect(sent[0] == round, "a broadcast value is wrong");
    if (round % 7 == 0) self.barrier();
  }
}

WEIR_RANK_REQUIREMENT(3, 04, Order, ThreadsUseGroupsAtTheSameTime,
                      "Several threads of a rank may use different groups at the same time.", {}) {
  Rank other(self.rank, self.size, self.setting, self.address);
  other.group = other.join(" second");
  std::string finding;
  std::thread thread([&] {
    try {
      for (int round = 0; round < 40; ++round) other.expect_group_works();
    } catch (const Unmet& unmet) {
      finding = unmet.what();
    }
  });
  try {
    for (int round = 0; round < 40; ++round) self.expect_group_works();
  } catch (...) {
    thread.join();
    throw;
  }
  thread.join();
  self.expect(finding.empty(), "in the second thread: " + finding);
  other.leave(other.group);
}

WEIR_RANK_REQUIREMENT(
    3, 05, Order, ARankMayLeaveAfterItsLastOperation,
    "A rank that leaves when its last operation is complete does not harm the same operation of the "
    "others.",
    {.joins = false}) {
  for (std::uint32_t round = 0; round < 30; ++round) {
    self.group = self.join(" round " + std::to_string(round));
    const std::uint32_t root = round % self.size;
    std::vector<std::uint32_t> sent(4, self.rank == root ? round : 99);
    const weir_memory memory = host_memory(sent);
    self.expect_ok(self.table.broadcast(self.group, &memory, 16, root, nullptr, &self.status), "broadcast");
    self.leave(self.group);
    self.group = nullptr;
    self.expect(sent[3] == round, "a broadcast value is wrong");
  }
}

}  // namespace
}  // namespace weir::conformance
