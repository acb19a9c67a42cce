// SPDX-License-Identifier: Apache-2.0
// The messages between the ranks of nccl and rccl, with ranks that are objects of this process.
#include "../../plugins/collectives/ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <weir/sdk/status.hpp>

namespace weir::collectives {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint32_t size = 3;

std::string address_of(const std::string& name) {
  return "unix:weir ranks test " + std::to_string(getpid()) + " " + name;
}

/// The table of a rank. The rank cannot reach `unreachable`.
Table table_of(std::uint32_t rank, std::uint32_t unreachable = size) {
  Table table;
  table.listener = listen_on(address_of(std::to_string(rank)));
  table.token = 7;
  table.members.resize(size);
  for (std::uint32_t other = 0; other < size; ++other) {
    const std::string name = other == unreachable ? "nobody" : std::to_string(other);
    std::snprintf(table.members[other].address, sizeof table.members[other].address, "%s",
                  address_of(name).c_str());
  }
  return table;
}

// Rank 2 fails and tells rank 0 first, which leaves before rank 1 has received the word of rank 2.
TEST(Ranks, ARankThatLeavesAfterAFailureReportsTheFailure) {
  std::array tables{table_of(0), table_of(1), table_of(2, 1)};
  Ranks first(0, size, 20s, std::move(tables[0])), second(1, size, 20s, std::move(tables[1])),
      third(2, size, 20s, std::move(tables[2]));
  std::string error;
  int cause = -1;
  std::jthread waiting([&] {
    std::byte byte{};
    const Part part{0, &byte, 1, true};
    try {
      // The word of the failure may be there before the call begins.
      second.begin("joining the group", Channel::collective);
      second.transfer({&part, 1});
    } catch (const sdk::Failure& failure) {
      error = failure.message;
      cause = second.failed_rank();
    }
  });
  third.abort("the cable is unplugged");
  while (!first.has_failed()) std::this_thread::sleep_for(1ms);
  first.leave(false);
  waiting.join();
  EXPECT_THAT(error, HasSubstr("rank 2 ended the group: the cable is unplugged"));
  EXPECT_EQ(cause, 2);
}

}  // namespace
}  // namespace weir::collectives
