// SPDX-License-Identifier: Apache-2.0
// Copies and fills of strided views.
#include <random>

#include "run_apart.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;

TEST_F(Strided, CopiesToAndFromTheHost) {
  const auto x = matrix(4, 5);
  EXPECT_THAT(x.slice(1, 1, 5, 2).to_host(stream), ElementsAre(1, 3, 6, 8, 11, 13, 16, 18));
  EXPECT_THAT(x.permuted({1, 0}).slice(0, 2).to_host(stream), ElementsAre(0, 5, 10, 15, 1, 6, 11, 16));
  x.slice(1, 4, 5).copy_from(stream, std::vector<std::int32_t>{-1, -2, -3, -4});
  EXPECT_THAT(x.to_host(stream),
              ElementsAre(0, 1, 2, 3, -1, 5, 6, 7, 8, -2, 10, 11, 12, 13, -3, 15, 16, 17, 18, -4));
}

TEST_F(Strided, FillsOnlyItsElements) {
  const auto x = matrix(3, 4);
  x.slice(1, 0, 4, 3).fill(stream, 9);
  EXPECT_THAT(x.to_host(stream), ElementsAre(9, 1, 2, 9, 9, 5, 6, 9, 9, 9, 10, 9));
  x.permuted({1, 0}).slice(1, 2).fill_zero(stream);
  EXPECT_THAT(x.to_host(stream), ElementsAre(9, 0, 2, 9, 9, 0, 6, 9, 9, 0, 10, 9));
  const auto v = tested().array<Vec<float, 3>>(stream, 5);
  v.fill_zero(stream);
  v.slice(0, 0, 5, 2).fill(stream, Vec<float, 3>{1, 2, 3});
  const auto values = v.to_host(stream);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(values[i][1], i % 2 ? 0 : 2) << i;
}

TEST_F(Strided, CopiesBetweenArraysOfEqualSize) {
  const auto x = matrix(4, 6);
  const auto y = tested().array<std::int32_t>(stream, 3, 8);
  y.fill(stream, -1);
  y.slice(1, 0, 8, 2)
      .copy_from(stream, x.slice(1, 1, 4).slice(0, 4).permuted({1, 0}));  // 3 x 4 on both sides
  EXPECT_THAT(y.to_host(stream), ElementsAre(1, -1, 7, -1, 13, -1, 19, -1, 2, -1, 8, -1, 14, -1, 20, -1, 3,
                                             -1, 9, -1, 15, -1, 21, -1));
  // Other shapes of the same size: in the order of elements.
  const auto pairs = tested().array<std::int32_t>(stream, 6, 2);
  static_cast<const AnyArrayView&>(pairs.slice(1, 0, 2)).copy_from_array(stream, x.slice(1, 0, 3));
  EXPECT_THAT(pairs.to_host(stream), ElementsAre(0, 1, 2, 6, 7, 8, 12, 13, 14, 18, 19, 20));
  const auto wide = tested().array<std::int32_t>(stream, 6, 4);
  wide.fill(stream, 0);
  wide.slice(1, 0, 4, 2).copy_from_array(stream, x.slice(1, 0, 6, 2));  // 6 x 2 from 4 x 3, both strided
  EXPECT_THAT(wide.slice(1, 0, 4, 2).to_host(stream), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22));
  EXPECT_THAT(wide.slice(1, 1, 4, 2).to_host(stream), testing::Each(0));
}

TEST_F(Strided, DISABLED_BetweenTwoDevices) {
  const Device other = open("cpu:1");
  const Stream there = other.create_stream();
  const auto x = matrix(4, 6);
  stream.synchronize();
  const auto y = other.array<std::int32_t>(there, 4, 6), line = other.array<std::int32_t>(there, 4, 2);
  line.copy_from(stream, x.slice(1, 1, 3));
  stream.synchronize();
  EXPECT_THAT(line.to_host(there), ElementsAre(1, 2, 7, 8, 13, 14, 19, 20));
  y.fill(there, 0);
  y.slice(1, 0, 6, 5).copy_from(there, matrix(4, 2));
  EXPECT_THAT(y.slice(1, 5, 6).to_host(there), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(thrown_by([&] { y.slice(1, 0, 2).copy_from(stream, x.slice(1, 0, 2)); }).what(),
              testing::HasSubstr("contiguous array of its device"));
  EXPECT_THAT(thrown_by([&] { line.copy_from(there, x.slice(1, 1, 3)); }).what(),
              testing::HasSubstr("pass a stream of the array's device"));
}

TEST_F(Strided, BetweenDevicesOneSideIsContiguous) {
  WEIR_NEEDS_SHELL();
  EXPECT_THAT(run_apart("WEIR_CPU_DEVICES=2 WEIR_DEVICE=cpu", "Strided.DISABLED_BetweenTwoDevices"),
              testing::HasSubstr("[  PASSED  ] 1 test"));
}

TEST_F(Strided, RefusesCopiesBetweenInterleavedViews) {
  const auto x = matrix(4, 6);
  EXPECT_THAT(thrown_by([&] { x.slice(1, 0, 2).copy_from(stream, x.slice(1, 3, 5)); }).what(),
              testing::HasSubstr("arrays that overlap or interleave"));
}

TEST_F(Strided, AsynchronousCopiesKeepTheOrderOfTheStream) {
  const auto x = matrix(100, 100);
  const auto diagonal_rows = x.slice(1, 0, 100, 7);
  PinnedArray<std::int32_t> up = tested().pinned_array<std::int32_t>(diagonal_rows.size());
  PinnedArray<std::int32_t> down = tested().pinned_array<std::int32_t>(diagonal_rows.size());
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = -static_cast<std::int32_t>(i);
  diagonal_rows.copy_from_async(stream, up);
  diagonal_rows.copy_to_async(stream, down);
  stream.synchronize();
  EXPECT_EQ(std::vector<std::int32_t>(down.begin(), down.end()),
            std::vector<std::int32_t>(up.begin(), up.end()));
}

/// Random views of views, and the indices of their elements on the host.
template <class T>
void check_random(const Stream& stream, std::uint32_t seed) {
  std::mt19937 bits(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(bits() % n); };
  const std::int64_t shape[] = {1 + below(7), 1 + below(7), 1 + below(7)};
  const auto x = tested().array<T>(stream, shape[0], shape[1], shape[2]);
  std::vector<T> host(x.size());
  for (T& value : host) value = static_cast<T>(bits() % 100);
  x.copy_from(stream, host);
  ArrayView<T, 3> view = x;
  std::vector<std::size_t> places(host.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (int step = 0; step < 4; ++step) {
    const std::int64_t e[] = {view.extent(0), view.extent(1), view.extent(2)};
    std::vector<std::size_t> next;
    if (bits() % 2) {
      std::array<std::size_t, 3> order{0, 1, 2};
      std::shuffle(order.begin(), order.end(), bits);
      view = view.permuted(order);
      std::int64_t i[3];
      for (i[order[0]] = 0; i[order[0]] < e[order[0]]; ++i[order[0]])
        for (i[order[1]] = 0; i[order[1]] < e[order[1]]; ++i[order[1]])
          for (i[order[2]] = 0; i[order[2]] < e[order[2]]; ++i[order[2]])
            next.push_back(places[static_cast<std::size_t>((i[0] * e[1] + i[1]) * e[2] + i[2])]);
    } else {
      const auto d = static_cast<std::size_t>(below(3));
      const std::int64_t begin = below(static_cast<std::uint32_t>(e[d] + 1));
      const std::int64_t end = begin + below(static_cast<std::uint32_t>(e[d] - begin + 1));
      const std::int64_t by = 1 + below(3);
      view = view.slice(d, begin, end, by);
      std::int64_t i[3];
      for (i[0] = d == 0 ? begin : 0; i[0] < (d == 0 ? end : e[0]); i[0] += d == 0 ? by : 1)
        for (i[1] = d == 1 ? begin : 0; i[1] < (d == 1 ? end : e[1]); i[1] += d == 1 ? by : 1)
          for (i[2] = d == 2 ? begin : 0; i[2] < (d == 2 ? end : e[2]); i[2] += d == 2 ? by : 1)
            next.push_back(places[static_cast<std::size_t>((i[0] * e[1] + i[1]) * e[2] + i[2])]);
    }
    places = next;
  }
  ASSERT_EQ(view.size(), places.size());
  const auto found = view.to_host(stream);
  for (std::size_t i = 0; i < places.size(); ++i) ASSERT_EQ(found[i], host[places[i]]) << i;
  std::vector<T> values(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) host[places[i]] = values[i] = static_cast<T>(bits() % 100);
  view.copy_from(stream, values);
  EXPECT_EQ(x.to_host(stream), host);
}

TEST_F(Strided, RandomViewsReachTheElementsThatTheyName) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    check_random<std::uint8_t>(stream, seed);
    check_random<float>(stream, seed);
    check_random<std::int64_t>(stream, seed);
  }
}

}  // namespace
}  // namespace weir::test
