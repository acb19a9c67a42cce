// SPDX-License-Identifier: Apache-2.0
// Level 2: reductions.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "communicator/ranks.hpp"

namespace weir::conformance {
namespace {

/// Calls `body` with a value of each type but F16 and the type's number.
template <class Body>
void for_each_type(Body body) {
  body(std::int8_t{}, WEIR_I8);
  body(std::int16_t{}, WEIR_I16);
  body(std::int32_t{}, WEIR_I32);
  body(std::int64_t{}, WEIR_I64);
  body(std::uint8_t{}, WEIR_U8);
  body(std::uint16_t{}, WEIR_U16);
  body(std::uint32_t{}, WEIR_U32);
  body(std::uint64_t{}, WEIR_U64);
  body(float{}, WEIR_F32);
  body(double{}, WEIR_F64);
}

/// Small numbers, whose reductions over a few ranks are exact in every type.
template <class T>
T value(std::uint32_t rank, std::size_t i) {
  return static_cast<T>((rank * 5 + i * 3) % 7 % (rank % 3 + 2));
}

template <class T>
T expected(std::uint32_t ranks, std::size_t i, std::uint32_t reduction) {
  T result = value<T>(0, i);
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    const T next = value<T>(rank, i);
    if (reduction == WEIR_SUM) result = static_cast<T>(result + next);
    if (reduction == WEIR_PRODUCT) result = static_cast<T>(result * next);
    if (reduction == WEIR_MIN) result = next < result ? next : result;
    if (reduction == WEIR_MAX) result = result < next ? next : result;
  }
  return result;
}

WEIR_RANK_REQUIREMENT(
    2, 20, Reductions, AllReduceOfEveryTypeAndKind,
    "all_reduce gives sums, products, minima and maxima of every type and count, and leaves its "
    "source unchanged.",
    {}) {
  for_each_type([&]<class T>(T, std::uint32_t type) {
    for (const std::uint32_t reduction : {WEIR_SUM, WEIR_PRODUCT, WEIR_MIN, WEIR_MAX})
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{1001}}) {
        std::vector<T> source(count), result(count + 1, T{77});
        for (std::size_t i = 0; i < count; ++i) source[i] = value<T>(self.rank, i);
        const std::vector<T> before = source;
        const weir_memory to = host_memory(result), from = host_memory(source);
        self.expect_ok(
            self.table.all_reduce(self.group, &to, &from, count, type, reduction, nullptr, &self.status),
            "all_reduce");
        const std::string what =
            "all_reduce of type " + std::to_string(type) + ", reduction " + std::to_string(reduction);
        for (std::size_t i = 0; i < count; ++i)
          self.expect(result[i] == expected<T>(self.size, i, reduction),
                      what + ": element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong");
        self.expect(result[count] == T{77}, what + " wrote past its destination");
        self.expect(source == before, what + " changed its source");
      }
  });
}

WEIR_RANK_REQUIREMENT(2, 21, Reductions, LargeArrays, "all_reduce takes arrays of any size.", {}) {
  for (const std::size_t count : {std::size_t{20'011}, std::size_t{1'000'003}}) {
    std::vector<std::int32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = value<std::int32_t>(self.rank, i);
    self.all_reduce(values, WEIR_I32, WEIR_SUM);
    for (std::size_t i = 0; i < count; ++i)
      self.expect(values[i] == expected<std::int32_t>(self.size, i, WEIR_SUM),
                  "element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong");
  }
}

WEIR_RANK_REQUIREMENT(
    2, 22, Reductions, TheSameBitsOnAllRanks,
    "The result of all_reduce has the same bits on all ranks, also where the order of additions "
    "matters.",
    {}) {
  for (const std::size_t count : {std::size_t{1003}, std::size_t{60'001}}) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] =
          std::ldexp(0.1f + static_cast<float>(self.rank), static_cast<int>((i + self.rank * 7) % 40));
    self.all_reduce(values, WEIR_F32, WEIR_SUM);
    const std::vector<float> all = self.all_gather(values);
    for (std::uint32_t rank = 0; rank < self.size; ++rank)
      self.expect(std::memcmp(all.data() + rank * count, values.data(), count * sizeof(float)) == 0,
                  "rank " + std::to_string(rank) + " has other bits than rank " + std::to_string(self.rank));
  }
}

WEIR_RANK_REQUIREMENT(2, 23, Reductions, IntegersWrap, "Sums and products of integers wrap.",
                      {.min_ranks = 2}) {
  std::vector<std::int8_t> sums(3, 100);
  std::vector<std::uint32_t> products(3, 0x80000001u);
  self.all_reduce(sums, WEIR_I8, WEIR_SUM);
  self.all_reduce(products, WEIR_U32, WEIR_PRODUCT);
  std::uint32_t product = 1;
  for (std::uint32_t rank = 0; rank < self.size; ++rank) product *= 0x80000001u;
  self.expect(sums[2] == static_cast<std::int8_t>(100 * self.size), "a sum of 8 bits does not wrap");
  self.expect(products[2] == product, "a product of 32 bits does not wrap");
}

WEIR_RANK_REQUIREMENT(2, 24, Reductions, MinimaAndMaximaIgnoreNaN,
                      "WEIR_MIN and WEIR_MAX of floats ignore NaN unless all values are NaN.",
                      {.min_ranks = 2}) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::uint32_t reduction : {WEIR_MIN, WEIR_MAX})
    for (std::uint32_t odd = 0; odd < self.size; ++odd) {
      std::vector<float> values = {self.rank == odd ? nan : 3.0f, self.rank == odd ? 3.0f : nan, nan};
      self.all_reduce(values, WEIR_F32, reduction);
      self.expect(values[0] == 3.0f && values[1] == 3.0f, "NaN of some ranks was not ignored");
      self.expect(std::isnan(values[2]), "the reduction of NaN alone is not NaN");
    }
}

WEIR_RANK_REQUIREMENT(2, 25, Reductions, HalvesRoundToNearestEven,
                      "Sums of 16-bit floats are rounded to nearest, ties to even.", {.min_ranks = 2}) {
  // 1 + 2^-11 is half way between two halves; 1 + 3 * 2^-11 too. 2^-24 is the smallest half; 65504 the
  // largest.
  const std::uint16_t of_rank[2][4] = {{0x3c00, 0x3c01, 0x0001, 0x7bff}, {0x1000, 0x1000, 0x0001, 0x7bff}};
  std::vector<std::uint16_t> values(4, 0);
  if (self.rank < 2) values.assign(of_rank[self.rank], of_rank[self.rank] + 4);
  self.all_reduce(values, WEIR_F16, WEIR_SUM);
  self.expect(values == std::vector<std::uint16_t>({0x3c00, 0x3c02, 0x0002, 0x7c00}),
              "a sum of halves is wrong");
}

WEIR_RANK_REQUIREMENT(2, 26, Reductions, ReduceScatterGivesEachRankItsPart,
                      "reduce_scatter gives rank r the reduction of part r of all sources.", {}) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{30'001}}) {
    std::vector<std::int64_t> source(count * self.size), part(count + 1, -5);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = value<std::int64_t>(self.rank, i) + 1;
    const weir_memory to = host_memory(part), from = host_memory(source);
    self.expect_ok(
        self.table.reduce_scatter(self.group, &to, &from, count, WEIR_I64, WEIR_SUM, nullptr, &self.status),
        "reduce_scatter");
    for (std::size_t i = 0; i < count; ++i)
      self.expect(part[i] == expected<std::int64_t>(self.size, self.rank * count + i, WEIR_SUM) + self.size,
                  "element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong");
    self.expect(part[count] == -5, "reduce_scatter wrote past its destination");
  }
}

}  // namespace
}  // namespace weir::conformance
