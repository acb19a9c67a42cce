// SPDX-License-Identifier: Apache-2.0
// The operations and failures of groups of threads.
#include <gmock/gmock.h>

#include <numeric>

#include "ranks.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr auto rank_error = static_cast<weir_result>(WEIR_ERROR_RANK);

class Local : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Local, testing::Values(1u, 2u, 3u, 4u, 7u));

TEST_P(Local, SumsInPlaceWithTheSameBitsOnAllRanks) {
  std::vector<std::vector<float>> results(GetParam());
  on_ranks(GetParam(), [&](Rank& self) {
    for (int round = 0; round < 20; ++round) {
      std::vector<float> values(1003);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 0.1f * static_cast<float>(self.rank + 1) + static_cast<float>(i * 7 % 13);
      const weir_memory memory = host(values.data());
      ASSERT_EQ(self.table.all_reduce(self.group, &memory, &memory, values.size(), WEIR_F32, WEIR_SUM,
                                      nullptr, &self.status),
                WEIR_OK)
          << self.message();
      results[self.rank] = values;
    }
  });
  std::vector<float> expected(1003);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = 0.1f + static_cast<float>(i * 7 % 13);
    for (std::uint32_t rank = 1; rank < GetParam(); ++rank)
      expected[i] += 0.1f * static_cast<float>(rank + 1) + static_cast<float>(i * 7 % 13);
  }
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST_P(Local, GathersScattersAndBroadcasts) {
  on_ranks(GetParam(), [](Rank& self) {
    const std::uint32_t n = self.size;
    std::vector<std::uint32_t> all(n), parts(n), mixed(n);
    const std::uint32_t mine = 100 + self.rank;
    weir_memory from = host(&mine), to = host(all.data());
    ASSERT_EQ(self.table.all_gather(self.group, &to, &from, sizeof mine, nullptr, &self.status), WEIR_OK);
    for (std::uint32_t other = 0; other < n; ++other) EXPECT_EQ(all[other], 100 + other);

    for (std::uint32_t other = 0; other < n; ++other) parts[other] = self.rank * 1000 + other;
    from = host(parts.data()), to = host(mixed.data());
    ASSERT_EQ(self.table.all_to_all(self.group, &to, &from, sizeof mine, nullptr, &self.status), WEIR_OK);
    for (std::uint32_t other = 0; other < n; ++other) EXPECT_EQ(mixed[other], other * 1000 + self.rank);

    std::uint32_t part = 0;
    to = host(&part);
    ASSERT_EQ(self.table.reduce_scatter(self.group, &to, &from, 1, WEIR_U32, WEIR_MAX, nullptr, &self.status),
              WEIR_OK);
    EXPECT_EQ(part, (n - 1) * 1000 + self.rank);

    for (std::uint32_t root = 0; root < n; ++root) {
      std::uint32_t value = self.rank == root ? 77 + root : 0;
      const weir_memory memory = host(&value);
      ASSERT_EQ(self.table.broadcast(self.group, &memory, sizeof value, root, nullptr, &self.status),
                WEIR_OK);
      EXPECT_EQ(value, 77 + root);
    }
  });
}

TEST_P(Local, ExchangesAroundARingWithoutWaitingInTheList) {
  on_ranks(GetParam(), [](Rank& self) {
    const std::uint32_t right = (self.rank + 1) % self.size, left = (self.rank + self.size - 1) % self.size;
    for (int round = 0; round < 50; ++round) {
      std::vector<int> sent(100, static_cast<int>(self.rank) + round), received(100);
      // The receive comes first: with ranks that waited for it before they send, the ring would deadlock.
      const weir_transfer transfers[] = {{left, 1, 400, host(received.data())},
                                         {right, 0, 400, host(sent.data())}};
      ASSERT_EQ(self.table.exchange(self.group, 2, transfers, nullptr, &self.status), WEIR_OK)
          << self.message();
      EXPECT_EQ(received, std::vector<int>(100, static_cast<int>(left) + round));
    }
  });
}

TEST(LocalArithmetic, HalfsRoundToNearestEven) {
  on_ranks(2, [](Rank& self) {
    // 1 + 2^-11 is half way between two halfs; 3 * 2^-11 more is not. 2^-24 is the smallest half; 65504 the
    // largest.
    const std::uint16_t values[2][4] = {{0x3c00, 0x3c01, 0x0001, 0x7bff}, {0x1000, 0x1000, 0x0001, 0x7bff}};
    std::uint16_t mine[4];
    std::copy_n(values[self.rank], 4, mine);
    const weir_memory memory = host(mine);
    ASSERT_EQ(
        self.table.all_reduce(self.group, &memory, &memory, 4, WEIR_F16, WEIR_SUM, nullptr, &self.status),
        WEIR_OK);
    EXPECT_THAT(mine, testing::ElementsAre(0x3c00, 0x3c02, 0x0002, 0x7c00));
  });
}

TEST(LocalFailure, AHangingRankIsNamedWithinTheLimit) {
  const auto begin = std::chrono::steady_clock::now();
  on_ranks(
      4,
      [&](Rank& self) {
        std::vector<int> values(8, 1);
        ASSERT_EQ(self.sum(values), WEIR_OK);
        if (self.rank == 2) {
          std::this_thread::sleep_for(1500ms);
          EXPECT_EQ(self.barrier(), rank_error);  // the group has failed meanwhile
          return;
        }
        EXPECT_EQ(self.barrier(), rank_error);
        EXPECT_THAT(self.message(),
                    HasSubstr("no answer within 0.3 s: rank 2 has come no further than its call 1, "
                              "all_reduce, while other ranks waited for it in barrier"));
        weir_group_info info{sizeof info, 0, 0, 0};
        EXPECT_EQ(self.table.group_get_info(self.group, &info, nullptr), WEIR_OK);
        EXPECT_EQ(info.failed_rank, 2);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 1400ms);
      },
      300ms);
}

TEST(LocalFailure, ARankThatLeavesEndsTheWaitOfTheOthersAtOnce) {
  on_ranks(3, [](Rank& self) {
    if (self.rank == 1) return;
    std::vector<int> values(8, 1);
    EXPECT_EQ(self.sum(values), rank_error);
    EXPECT_THAT(self.message(), HasSubstr("rank 1 left the group"));
  });
}

TEST(LocalFailure, AnAbortReachesAllRanksWithItsReason) {
  on_ranks(3, [](Rank& self) {
    if (self.rank == 0) {
      EXPECT_EQ(self.table.group_abort(self.group, "the terrain is flat", nullptr), WEIR_OK);
    }
    EXPECT_EQ(self.barrier(), rank_error);
    EXPECT_EQ(self.message(), "rank 0 ended the group: the terrain is flat");
    int value = 0;
    const weir_transfer receive{0, 1, 4, host(&value)};
    EXPECT_EQ(self.table.exchange(self.group, 1, &receive, nullptr, &self.status), rank_error);
  });
}

TEST(LocalFailure, AReceiveWithoutItsSendIsNamed) {
  on_ranks(
      2,
      [](Rank& self) {
        int value = 0;
        if (self.rank == 0) {
          const weir_transfer receive{1, 1, 4, host(&value)};
          EXPECT_EQ(self.table.exchange(self.group, 1, &receive, nullptr, &self.status), rank_error);
          EXPECT_THAT(self.message(), HasSubstr("rank 1"));
        } else {
          std::this_thread::sleep_for(600ms);
        }
      },
      200ms);
}

TEST(LocalFailure, AMismatchedCallIsNamedOnAllRanks) {
  on_ranks(3, [](Rank& self) {
    std::vector<int> values(self.rank == 2 ? 7u : 8u, 1);
    EXPECT_EQ(self.sum(values), rank_error);
    EXPECT_THAT(self.message(), HasSubstr("rank 2 made all_reduce of 7 elements of "));
  });
}

TEST(LocalFailure, AMismatchedTransferIsNamed) {
  on_ranks(2, [](Rank& self) {
    int values[4] = {};
    const weir_transfer transfer{1 - self.rank, self.rank, self.rank ? 8u : 12u, host(values)};
    EXPECT_EQ(self.table.exchange(self.group, 1, &transfer, nullptr, &self.status), rank_error);
    EXPECT_THAT(self.message(), HasSubstr("rank 1 receives 8 bytes from rank 0, which sent 12"));
  });
}

TEST(LocalFailure, ARankThatNeverJoinsIsNamed) {
  const weir_communicator_table& table = local_table();
  weir_group group = nullptr;
  Status status;
  const weir_group_options options{sizeof options, 0, 3, 0, 100'000'000, "alone", nullptr};
  EXPECT_EQ(table.group_join(&options, &group, &status), rank_error);
  EXPECT_THAT(status.message, HasSubstr("rank 1 has made no call, rank 2 has made no call"));
  // The address is free again.
  const weir_group_options one{sizeof one, 0, 1, 0, 0, "alone", nullptr};
  ASSERT_EQ(table.group_join(&one, &group, &status), WEIR_OK) << status.message;
  EXPECT_EQ(table.group_leave(group, &status), WEIR_OK);
  EXPECT_EQ(table.group_leave(group, &status), WEIR_ERROR_INVALID);
}

TEST(LocalFailure, WrongArgumentsAreRefused) {
  on_ranks(1, [](Rank& self) {
    int value = 0;
    const weir_memory memory = host(&value), device{"cuda", nullptr, 0, &value};
    EXPECT_EQ(self.table.broadcast(self.group, &memory, 4, 1, nullptr, &self.status), WEIR_ERROR_INVALID);
    EXPECT_THAT(self.message(), HasSubstr("root is rank 1; the group has the ranks 0 to 0"));
    EXPECT_EQ(self.table.broadcast(self.group, &device, 4, 0, nullptr, &self.status), WEIR_ERROR_UNSUPPORTED);
    EXPECT_EQ(self.table.all_reduce(self.group, &memory, &memory, 1, 11, WEIR_SUM, nullptr, &self.status),
              WEIR_ERROR_INVALID);
    EXPECT_EQ(self.table.all_reduce(self.group, &memory, &memory, 1, WEIR_I8, 4, nullptr, &self.status),
              WEIR_ERROR_INVALID);
    EXPECT_EQ(self.table.barrier(nullptr, nullptr, &self.status), WEIR_ERROR_INVALID);
    EXPECT_EQ(self.barrier(), WEIR_OK);
  });
}

}  // namespace
}  // namespace weir::test
