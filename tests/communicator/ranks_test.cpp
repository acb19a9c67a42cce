// SPDX-License-Identifier: Apache-2.0
// The messages between the ranks of nccl and rccl, with ranks that are objects of this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <weir/sdk/status.hpp>

#include "../../plugins/collectives/frames.hpp"

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

std::string error_of(Ranks& rank, std::span<const Part> parts) {
  try {
    rank.begin("a call", Channel::collective);
    rank.transfer(parts);
  } catch (const sdk::Failure& failure) {
    return failure.message;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// The socket of rank 0 sends a byte at a time.
TEST(Ranks, ATransferThatMovesMayTakeLongerThanTheLimit) {
  constexpr auto limit = 2s;
  const Socket first = listen_on(address_of("0")), third = listen_on(address_of("2"));
  Ranks rank(1, size, limit, table_of(1));
  const Socket sender = connect_to(address_of("1"));
  const Greeting greeting{7, 0, 0};
  std::array<std::byte, 6> values{};
  const struct {
    std::uint32_t kind = 0, channel = static_cast<std::uint32_t>(Channel::collective);
    std::uint64_t size = sizeof values;
  } frame;
  const auto send = [&](const void* data, std::size_t bytes) {
    EXPECT_TRUE(send_all(sender, data, bytes, Clock::now() + limit));
  };
  send(&greeting, sizeof greeting);
  send(&frame, sizeof frame);
  std::jthread sending([&] {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::this_thread::sleep_for(400ms);
      const std::byte value{1};
      send(&value, 1);
    }
  });
  const Part part{0, values.data(), values.size(), true};
  EXPECT_EQ(error_of(rank, {&part, 1}), "nothing was thrown");
  EXPECT_EQ(values.back(), std::byte{1});
}

// No host has the memory to keep these messages.
TEST(Ranks, AFailedCallWithdrawsItsMessagesWithoutMemory) {
  std::array tables{table_of(0), table_of(1), table_of(2)};
  std::array<std::byte, 4> from_first{}, from_third{}, sent{};
  Ranks first(0, size, 20s, std::move(tables[0])), second(1, size, 20s, std::move(tables[1])),
      third(2, size, 20s, std::move(tables[2]));
  const std::array parts{Part{0, from_first.data(), std::uint64_t{1} << 62, true},
                         Part{2, from_third.data(), from_third.size(), true}};
  std::string error;
  std::jthread waiting([&] { error = error_of(second, parts); });
  while (second.collectives() == 0) std::this_thread::sleep_for(1ms);
  first.abort("the cable is unplugged");
  waiting.join();
  EXPECT_THAT(error, HasSubstr("rank 0 ended the group: the cable is unplugged"));
  const Part late{1, sent.data(), sent.size(), false};
  sent.fill(std::byte{1});
  third.transfer({&late, 1});
  third.leave(false);
  while (!second.left_before(2, 1)) std::this_thread::sleep_for(1ms);  // it has received the message
  EXPECT_EQ(from_third, (std::array<std::byte, 4>{}));
}

}  // namespace
}  // namespace weir::collectives
