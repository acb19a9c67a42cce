// SPDX-License-Identifier: Apache-2.0
// The reductions of MessageGroup over ranks that are threads, and the messages that they take.
#include <gtest/gtest.h>

#include <bit>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>
#include <weir/sdk/ranks/message_group.hpp>

namespace weir::test {
namespace {

/// Messages that wait for their receivers.
class Mail {
 public:
  void send(std::uint32_t from, const sdk::Part& part) {
    const auto* const bytes = static_cast<const std::byte*>(part.address);
    const std::lock_guard lock(mutex_);
    boxes_[{from, part.peer}].emplace_back(bytes, bytes + part.size);
    arrived_.notify_all();
  }
  void receive(std::uint32_t to, const sdk::Part& part) {
    std::unique_lock lock(mutex_);
    std::deque<std::vector<std::byte>>& box = boxes_[{part.peer, to}];
    ASSERT_TRUE(arrived_.wait_for(lock, std::chrono::seconds(60), [&] { return !box.empty(); }));
    ASSERT_EQ(box.front().size(), part.size);
    if (part.size != 0) std::memcpy(part.address, box.front().data(), part.size);
    box.pop_front();
  }
  bool empty() const {
    return std::ranges::all_of(boxes_, [](const auto& box) { return box.second.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::vector<std::byte>>> boxes_;
};

class CountedMessages final : public sdk::Messages {
 public:
  CountedMessages(Mail& mail, std::uint32_t rank, std::uint32_t size) : Messages(rank, size), mail_(mail) {}

  void begin(const char*, sdk::Channel) override {}
  void transfer(std::span<const sdk::Part> parts) override {
    for (const sdk::Part& part : parts) {
      if (part.receive) continue;
      mail_.send(rank(), part);
      ++sent;
      bytes += part.size;
    }
    for (const sdk::Part& part : parts)
      if (part.receive) mail_.receive(rank(), part);
  }
  [[noreturn]] void fail(int, std::string words) override { throw std::runtime_error(words); }
  void abort(const std::string&) override {}
  int failed_rank() const override { return -1; }

  std::uint64_t sent = 0, bytes = 0;

 private:
  Mail& mail_;
};

/// The most that a rank sends.
struct Sent {
  std::uint64_t messages = 0, bytes = 0;
};

/// Reduces `count` numbers of type T on `ranks` ranks; body(rank, values) sets them, and checks the results
/// of all ranks.
template <class T, class Fill, class Check>
Sent all_reduce(std::uint32_t ranks, std::size_t count, std::uint32_t type, const Fill& fill,
                const Check& check) {
  Mail mail;
  std::vector<std::vector<T>> results(ranks);
  std::vector<std::shared_ptr<CountedMessages>> messages;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    messages.push_back(std::make_shared<CountedMessages>(mail, rank, ranks));
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        std::vector<T> values(count);
        for (std::size_t i = 0; i < count; ++i) values[i] = fill(rank, i);
        const std::vector<T> before = values;
        results[rank].resize(count + 1, T{77});
        sdk::MessageGroup group(messages[rank], false);
        const weir_memory from{nullptr, nullptr, 0, values.data()},
            to{nullptr, nullptr, 0, results[rank].data()};
        group.all_reduce(to, from, count, type, WEIR_SUM, nullptr);
        EXPECT_EQ(values, before);
        EXPECT_EQ(results[rank].back(), T{77});
        results[rank].pop_back();
      });
  }
  EXPECT_TRUE(mail.empty());
  check(results);
  Sent most;
  for (const auto& rank : messages)
    most = {std::max(most.messages, rank->sent), std::max(most.bytes, rank->bytes)};
  return most;
}

Sent sum_of_integers(std::uint32_t ranks, std::size_t count) {
  return all_reduce<std::int32_t>(
      ranks, count, WEIR_I32,
      [](std::uint32_t rank, std::size_t i) {
        return static_cast<std::int32_t>((rank + 1) * 1'000 + i % 977);
      },
      [&](const auto& results) {
        const auto n = static_cast<std::int32_t>(ranks);
        for (const auto& values : results)
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(values[i], n * (n + 1) / 2 * 1'000 + n * static_cast<std::int32_t>(i % 977)) << i;
      });
}

std::uint64_t bits_of(std::uint32_t ranks) {
  return std::bit_width(ranks - 1);
}

TEST(MessageGroup, SmallSumsTakeMessagesForEachBitOfTheRanks) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 33u, 64u}) {
    const Sent sent = sum_of_integers(ranks, 1'000);
    EXPECT_LE(sent.messages, ranks == 1 ? 0 : bits_of(ranks)) << ranks;
  }
}

// As large as the results of all chunks of a reduction in the prescribed order.
TEST(MessageGroup, LargeSumsTakeMessagesForEachBitOfManyRanks) {
  for (const std::uint32_t ranks : {2u, 3u, 4u, 7u, 8u, 9u, 11u, 16u, 31u, 32u, 33u, 64u})
    for (const std::size_t count : {std::size_t{16'385}, std::size_t{32'768}, std::size_t{65'536}}) {
      const Sent sent = sum_of_integers(ranks, count);
      const std::uint64_t bytes = count * sizeof(std::int32_t);
      const bool power = std::has_single_bit(ranks);
      if (ranks >= 8) {
        EXPECT_LE(sent.messages, 2 * std::bit_width(ranks) - (power ? 2 : 1)) << ranks;
      }
      EXPECT_LE(sent.bytes, (power ? 2 : 3) * bytes) << ranks;
    }
}

TEST(MessageGroup, ArraysOfUnevenPartsAndLargeOnesAreSummed) {
  for (const std::uint32_t ranks : {8u, 13u}) {
    sum_of_integers(ranks, 16'384 + 7);
    sum_of_integers(ranks, 400'003);  // too large for halves
  }
}

TEST(MessageGroup, AllRanksHaveTheSameBits) {
  for (const std::uint32_t ranks : {3u, 8u, 13u, 16u})
    for (const std::size_t count : {std::size_t{100}, std::size_t{20'011}})
      all_reduce<float>(
          ranks, count, WEIR_F32,
          [](std::uint32_t rank, std::size_t i) {
            return std::ldexp(0.1f + static_cast<float>(rank), static_cast<int>((i + rank * 7) % 40));
          },
          [&](const auto& results) {
            for (const auto& values : results)
              EXPECT_EQ(std::memcmp(values.data(), results[0].data(), count * sizeof(float)), 0);
          });
}

}  // namespace
}  // namespace weir::test
