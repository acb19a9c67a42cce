// SPDX-License-Identifier: Apache-2.0
// Algorithms are work of their stream: they follow earlier work, later work follows them, and the host does
// not wait.
#include <algorithm>
#include <atomic>

#include "on_threads.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

/// A stream that is held until release(), so that work submitted to it is certainly not done.
class Held {
 public:
  explicit Held(const StreamRef& stream) {
    stream.call_host([this] { go_.wait(false); });
  }
  ~Held() { release(); }
  void release() {
    go_ = true;
    go_.notify_all();
  }

 private:
  std::atomic<bool> go_ = false;
};

const Kernel<void(View<std::uint32_t>, Value<std::uint32_t>)>& scramble() {
  static const Kernel kernel{
      "scramble", [](View<std::uint32_t> x, Value<std::uint32_t> salt) {
        range_for(x.size(), [&](Index i) { x[i] = (cast<std::uint32_t>(i) ^ salt) * 2654435761u; });
      }};
  return kernel;
}

/// The keys that scramble() writes.
std::vector<std::uint32_t> scrambled(std::uint32_t n, std::uint32_t salt) {
  std::vector<std::uint32_t> values(n);
  for (std::uint32_t i = 0; i < n; ++i) values[i] = (i ^ salt) * 2654435761u;
  return values;
}

std::vector<std::uint32_t> sorted_scramble(std::uint32_t n, std::uint32_t salt) {
  std::vector<std::uint32_t> values = scrambled(n, salt);
  std::sort(values.begin(), values.end());
  return values;
}

TEST(AlgorithmOrder, TheHostDoesNotWait) {
  const Stream stream = tested().create_stream();
  if (!tested().info().has(Capability::host_callback)) GTEST_SKIP() << "needs host callbacks";
  const auto x = tested().array<std::uint32_t>(stream, 3000);
  const auto result = tested().array<std::uint32_t>(stream, 3000);
  const auto count = tested().array<std::int64_t>(stream, 1);
  scramble()(stream, x, 0u);
  sort(stream, x);  // compiles
  unique(stream, x, result, count);
  stream.synchronize();
  Held held(stream);
  scramble()(stream, x, 5u);
  sort(stream, x);
  unique(stream, x, result, count);
  EXPECT_FALSE(stream.query());
  held.release();
  EXPECT_EQ(result.to_host(stream), sorted_scramble(3000, 5));
}

// Without the waits between the streams, the sort reads its keys before they are written, and the scan's
// stream reads them before they are sorted: the first stream is held meanwhile.
TEST(AlgorithmOrder, ForksAndJoinsBetweenStreams) {
  if (!tested().info().has(Capability::host_callback)) GTEST_SKIP() << "needs host callbacks";
  const Stream first = tested().create_stream(), second = tested().create_stream(),
               third = tested().create_stream();
  const auto x = tested().array<std::uint32_t>(first, 3000);
  const auto sums = tested().array<std::uint32_t>(first, 3000);
  scramble()(first, x, 0u);
  sort(first, x);  // compiles; to load code, a GPU's driver may wait for the work of all streams
  inclusive_scan(first, x, sums);
  x.fill_zero(first);
  first.synchronize();
  Held held(first);
  scramble()(first, x, 9u);
  second.wait(first);
  sort(second, x);
  third.wait(second);
  inclusive_scan(third, x, sums);
  first.wait(third);
  held.release();
  std::vector<std::uint32_t> expected = sorted_scramble(3000, 9);
  std::uint32_t sum = 0;
  for (std::uint32_t& value : expected) value = sum += value;
  EXPECT_EQ(sums.to_host(first), expected);
}

/// Kernels are traced at their first use, here by several threads at once.
TEST(AlgorithmOrder, ThreadsUseTheirStreamsAtTheSameTime) {
  std::atomic<int> right = 0;
  on_threads(4, [&right](int t) {
    const Stream stream = tested().create_stream();
    const auto x = tested().array<std::uint32_t>(stream, 2000);
    for (std::uint32_t round = 0; round < 5; ++round) {
      const std::uint32_t seed = 100 * static_cast<std::uint32_t>(t) + round;
      scramble()(stream, x, seed);
      sort(stream, x, SortOrder::ascending);
      right += x.to_host(stream) == sorted_scramble(2000, seed);
    }
  });
  EXPECT_EQ(right, 20);
}

/// Copies that another thread submits see the keys before or after a sort, never between its launches.
TEST(AlgorithmOrder, AnAlgorithmIsOneStepOfItsStream) {
  constexpr std::uint32_t n = 2000;
  const Stream stream = tested().create_stream();
  const auto x = tested().array<std::uint32_t>(stream, n);
  std::vector<Array<std::uint32_t>> copies;
  for (int i = 0; i < 100; ++i) copies.push_back(tested().array<std::uint32_t>(stream, n));
  const std::vector<std::uint32_t> unsorted = scrambled(n, 3);
  const std::vector<std::uint32_t> sorted = sorted_scramble(n, 3);
  for (int round = 0; round < 50; ++round) {
    scramble()(stream, x, 3u);
    std::atomic<int> ready = 0;
    std::size_t made = 0;
    on_threads(2, [&](int t) {
      ++ready;
      while (ready < 2) {
      }
      if (t == 0) {
        sort(stream, x);
        ready = 3;
      } else {
        while (ready != 3 && made < copies.size()) copies[made++].copy_from_array(stream, x);
      }
    });
    EXPECT_EQ(x.to_host(stream), sorted);
    for (std::size_t i = 0; i < made; ++i) {
      const std::vector<std::uint32_t> found = copies[i].to_host(stream);
      ASSERT_TRUE(found == unsorted || found == sorted) << "round " << round << ", copy " << i;
    }
  }
}

}  // namespace
}  // namespace weir::test
