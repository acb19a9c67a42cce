// SPDX-License-Identifier: Apache-2.0
// The queue that the scheduler keeps steps in.
#include "queue/fifo.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>

namespace vulkan_test {
namespace {

using weir::vulkan::Fifo;

// A thousand pushes at lengths up to 40, compared with std::deque.
TEST(Fifo, KeepsTheOrderAtEveryLength) {
  Fifo<std::unique_ptr<int>> fifo;
  std::deque<int> expected;
  int next = 0;
  for (std::size_t length = 0; length < 40; ++length)
    for (int i = 0; i < 25; ++i) {
      fifo.push(std::make_unique<int>(next));
      expected.push_back(next++);
      while (expected.size() > length) {
        ASSERT_EQ(*fifo.front(), expected.front());
        ASSERT_EQ(*fifo.pop(), expected.front());
        expected.pop_front();
      }
      ASSERT_EQ(fifo.empty(), expected.empty());
      ASSERT_EQ(fifo.items().size(), expected.size());
      for (std::size_t at = 0; at < expected.size(); ++at) ASSERT_EQ(*fifo.items()[at], expected[at]);
    }
}

TEST(Fifo, ReusesItsMemory) {
  Fifo<int> fifo;
  for (int i = 0; i < 10; ++i) fifo.push(i);
  std::set<const int*> places;
  for (int i = 0; i < 100'000; ++i) {
    fifo.push(i);
    fifo.pop();
    places.insert(fifo.items().data());
  }
  EXPECT_LT(places.size(), 100u);
}

TEST(Fifo, ReleasesWhatIsTakenOut) {
  Fifo<std::shared_ptr<int>> fifo;
  const auto object = std::make_shared<int>(1);
  for (int i = 0; i < 3; ++i) fifo.push(object);
  fifo.pop();
  fifo.pop();
  EXPECT_EQ(object.use_count(), 2);
}

}  // namespace
}  // namespace vulkan_test
