// SPDX-License-Identifier: Apache-2.0
// Distributed arrays over ranks that are threads, on the device of WEIR_DEVICE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "distributed_checks.hpp"
#include "rank_environment.hpp"
#include "tested_device.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// Runs body(world, stream) on each rank.
void on_ranks(const std::function<void(const Communicator&, const StreamRef&)>& body) {
  Device device = open(tested_device());
  run_ranks([&] {
    const Communicator world = join();
    const Stream stream = device.create_stream();
    body(world, stream);
    world.synchronize(stream);
  });
}

class Distribution : public testing::TestWithParam<const char*> {
 protected:
  Ranks ranks{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Ranks, Distribution, testing::Values("1", "2", "3", "4", "7"));

TEST_P(Distribution, KnowsItsRowsAndTheirIndices) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    const Cut cut{.rows = uneven_cut(60, world.size(), 4).rows, .halo = 2};
    const Distributed<float, 2> x(world, stream, {60, 5}, cut);
    std::int64_t first = 0;
    for (std::uint32_t rank = 0; rank < world.rank(); ++rank) first += cut.rows[rank];
    EXPECT_EQ(x.rows(), (Rows{first, first + cut.rows[world.rank()]}));
    EXPECT_EQ(x.origin() + x.owned().begin, first);
    EXPECT_EQ(x.owned().size(), x.rows().size());
    EXPECT_EQ(x.own().extent(0), x.rows().size());
    EXPECT_EQ(x.extent(0), 60);
    EXPECT_EQ(x.extent(1), 5);
    const auto [before, after] = x.borders();
    EXPECT_EQ(before, (Rows{x.owned().begin, x.interior().begin}));
    EXPECT_EQ(after, (Rows{x.interior().end, x.owned().end}));
    EXPECT_EQ(before.size(), world.rank() > 0 ? 2 : 0);
    EXPECT_EQ(after.size(), world.rank() + 1 < world.size() ? 2 : 0);
  });
}

TEST_P(Distribution, CutsEvenlyByDefault) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    const Distributed<int> x(world, stream, {17});
    std::int64_t rows = 0;
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
      EXPECT_EQ(x.rows(rank).begin, rows);
      EXPECT_LE(std::abs(x.rows(rank).size() - x.rows(0).size()), 1);
      rows = x.rows(rank).end;
    }
    EXPECT_EQ(rows, 17);
  });
}

TEST_P(Distribution, ExchangeFillsHalosInTheOrderOfTheStream) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    for (const bool periodic : {false, true})
      for (const std::int64_t halo : {1, 3}) {
        check_halos(world, stream, 40, {}, halo, periodic);
        check_halos(world, stream, 40, uneven_cut(40, world.size(), 3), halo, periodic);
      }
  });
}

TEST_P(Distribution, AStencilHasTheBitsOfOneArray) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    for (const bool periodic : {false, true})
      for (const std::int64_t halo : {1, 2, 4}) {
        check_stencil(world, stream, 64, {}, halo, periodic);
        check_stencil(world, stream, 33, uneven_cut(33, world.size(), halo), halo, periodic);
      }
  });
}

// Every sum of ranks with a boundary in a chunk differs if the partial sums are combined by rank.
TEST_P(Distribution, AReductionHasTheBitsOfOneArray) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    for (const std::int64_t rows : {7, 100, 1024, 5003})
      for (const std::int64_t columns : {1, 13}) {
        check_reductions(world, stream, rows, columns, {});
        check_reductions(world, stream, rows, columns, uneven_cut(rows, world.size(), 0));
      }
  });
}

template <class T>
void check_numbers(const Communicator& world, const StreamRef& stream, const std::vector<T>& values,
                   Combine combine, T expected) {
  const Distributed<T> x(world, stream, {static_cast<std::int64_t>(values.size())});
  x.own().copy_from(stream, std::span(values).subspan(static_cast<std::size_t>(x.rows().begin),
                                                      static_cast<std::size_t>(x.rows().size())));
  for (const ReduceOrder order : {ReduceOrder::prescribed, ReduceOrder::fast}) {
    auto result = stream.device().array<T>(stream, 1);
    reduce(stream, x, result, combine, order);
    world.synchronize(stream);
    EXPECT_EQ(result.to_host(stream).front(), expected);
  }
}

TEST_P(Distribution, ReducesEveryTypeInBothOrders) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    std::vector<std::int8_t> small(3000);
    std::vector<std::uint64_t> large(3000);
    std::vector<double> doubles(3000);
    for (std::size_t i = 0; i < 3000; ++i) {
      small[i] = static_cast<std::int8_t>(static_cast<int>(i % 200) - 120);
      large[i] = i << 40;
      doubles[i] = static_cast<double>(i) - 1500;
    }
    check_numbers<std::int8_t>(world, stream, small, Combine::min, -120);
    check_numbers<std::int8_t>(world, stream, small, Combine::max, 79);
    check_numbers<std::uint64_t>(world, stream, large, Combine::sum, std::uint64_t{2999 * 1500} << 40);
    check_numbers<std::uint64_t>(world, stream, large, Combine::bit_or, std::uint64_t{4095} << 40);
    check_numbers<std::uint64_t>(world, stream, large, Combine::bit_and, 0);
    large.pop_back();
    check_numbers<std::uint64_t>(world, stream, large, Combine::bit_xor, std::uint64_t{2999} << 40);
    check_numbers<double>(world, stream, doubles, Combine::sum, -1500);
    check_numbers<double>(world, stream, {}, Combine::min, std::numeric_limits<double>::infinity());
  });
}

// Chunks have more than 1024 elements.
TEST(DistributedReduction, HasTheBitsOfOneArrayOverMoreThan32MiElements) {
  const Ranks ranks("3");
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    check_reductions(world, stream, 34'000'003, 1, uneven_cut(34'000'003, world.size(), 0));
  });
}

TEST_P(Distribution, GatherScatterAndCopiesToAnotherCut) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    constexpr std::int64_t rows = 29, columns = 3;
    const std::uint32_t root = world.size() - 1;
    std::vector<int> values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
    Array<int, 2> whole, again;
    if (world.rank() == root) whole = stream.device().array<int>(stream, rows, columns);
    if (world.rank() == 0) again = stream.device().array<int>(stream, rows, columns);
    if (world.rank() == root) whole.copy_from(stream, values);
    Cut uneven = uneven_cut(rows, world.size(), 0), last;
    last.rows.assign(world.size(), 0);
    last.rows.back() = rows;
    const Distributed<int, 2> even(world, stream, {rows, columns}, {.halo = 1, .periodic = true});
    const Distributed<int, 2> other(world, stream, {rows, columns}, uneven),
        one(world, stream, {rows, columns}, last);
    even.scatter(stream, whole, root);
    other.copy_from(stream, even);
    one.copy_from(stream, other);
    one.gather(stream, again, 0);
    world.synchronize(stream);
    if (world.rank() == 0) {
      EXPECT_EQ(again.to_host(stream), values);
    }
    const std::vector<int> mine = even.own().to_host(stream);
    ASSERT_EQ(mine.size(), static_cast<std::size_t>(even.rows().size() * columns));
    for (std::size_t i = 0; i < mine.size(); ++i)
      EXPECT_EQ(mine[i], values[static_cast<std::size_t>(even.rows().begin * columns) + i]);
  });
}

// Neighbours only: two messages of the halo's size, however many ranks there are. A rank that is its own
// neighbour sends none.
TEST_P(Distribution, ExchangeSendsTwoMessages) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    const Distributed<double, 2> open(world, stream, {70, 11}, {.halo = 2});
    const Distributed<double, 2> circle(world, stream, {70, 11}, {.halo = 2, .periodic = true});
    const auto sent_by = [&](const Distributed<double, 2>& x) {
      x.local().fill(stream, 1.0);
      const MessageStatistics before = world.message_statistics();
      x.exchange(stream);
      const MessageStatistics after = world.message_statistics();
      EXPECT_EQ(after.received - before.received, after.sent - before.sent);
      EXPECT_EQ(after.sent_bytes - before.sent_bytes, (after.sent - before.sent) * 2 * 11 * sizeof(double));
      return after.sent - before.sent;
    };
    EXPECT_EQ(sent_by(circle), world.size() > 1 ? 2u : 0u);
    EXPECT_EQ(sent_by(open), (world.rank() > 0 ? 1u : 0u) + (world.rank() + 1 < world.size() ? 1u : 0u));
  });
}

TEST_P(Distribution, AnotherArrayTakesTheCutOfOneWithoutTheOtherRanks) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    const Cut cut{.rows = uneven_cut(40, world.size(), 3).rows, .halo = 2, .periodic = true};
    const Distributed<float, 2> x(world, stream, {40, 3}, cut);
    if (world.rank() != 0) return;  // making one that all ranks must make would wait for them
    const Distributed<double, 2> y(stream, x);
    EXPECT_EQ(y.rows(), x.rows());
    EXPECT_EQ(y.owned(), x.owned());
    EXPECT_EQ(y.interior(), x.interior());
    EXPECT_EQ(y.halo(), 2);
    EXPECT_TRUE(y.periodic());
    EXPECT_EQ(y.local().extent(1), 3);
    EXPECT_EQ(y.local().size_bytes(), x.local().size_bytes() * 2);
    EXPECT_THAT(thrown_by([&] { const Distributed<float> z(stream, x); }).what(),
                HasSubstr("an array of 1 dimensions cannot have the cut of one with 2"));
  });
}

// The arrays differ in type, cut and width of the halo, so a message in another's place has another size or
// other values.
TEST_P(Distribution, HalosOfSeveralArraysAreOneStep) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    const Distributed<std::int32_t, 2> x(world, stream, {40, 3}, {.halo = 1, .periodic = true});
    const Distributed<std::int64_t> y(world, stream, {50}, {.halo = 4, .periodic = true});
    const Distributed<std::int32_t, 2> z(stream, x);
    const auto number = [&](const auto& array, std::int64_t row, std::int64_t first) {
      const std::int64_t rows = array.extent(0);
      return first + (array.origin() + row + rows) % rows;
    };
    const auto fill_own = [&](const auto& array, std::int64_t first) {
      array.local().fill(stream, -1);
      for (std::int64_t row = array.owned().begin; row < array.owned().end; ++row)
        array.local().slice(row, row + 1).fill(stream, number(array, row, first));
    };
    fill_own(x, 1000), fill_own(y, 2000), fill_own(z, 3000);
    const MessageStatistics before = world.message_statistics();
    exchange_halos(stream, {x, y, z});
    world.synchronize(stream);
    EXPECT_EQ(world.message_statistics().sent - before.sent, world.size() > 1 ? 6u : 0u);
    const auto expect_full = [&](const auto& array, std::int64_t first) {
      const auto values = array.local().to_host(stream);
      const std::size_t columns = values.size() / static_cast<std::size_t>(array.local().extent(0));
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], number(array, static_cast<std::int64_t>(i / columns), first)) << i;
    };
    expect_full(x, 1000), expect_full(y, 2000), expect_full(z, 3000);
    exchange_halos(stream, {});  // nothing
  });
}

TEST(DistributedErrors, RefuseToExchangeArraysOfTwoGroupsTogether) {
  const Device device = open(tested_device());
  const Stream stream = device.create_stream();
  const Communicator one = join(), other = join();
  const Distributed<float> x(one, stream, {5}), y(other, stream, {5});
  EXPECT_THAT(thrown_by([&] {
                exchange_halos(stream, {x, y});
              }).what(),
              HasSubstr("the arrays belong to different Communicators"));
}

TEST(DistributedErrors, CopiesOfOtherExtentsNameBoth) {
  const Stream stream = open(tested_device()).create_stream();
  const Communicator world = join();
  const Distributed<float, 2> x(world, stream, {5, 3}), y(world, stream, {5, 4});
  EXPECT_THAT(thrown_by([&] { x.copy_from(stream, y); }).what(),
              HasSubstr("element type and extents, 5 x 3 of f32; it has 5 x 4 of f32"));
}

// A rank moves no more than one chunk to the rank before, and redistributes what changes its owner.
TEST_P(Distribution, AReductionSendsAtMostAChunk) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    const Distributed<float> x(world, stream, {40'000});
    x.own().fill(stream, 1.0f);
    auto result = stream.device().array<float>(stream, 1);
    reduce(stream, x, result);
    world.synchronize(stream);
    EXPECT_EQ(result.to_host(stream).front(), 40'000.0f);
    EXPECT_LE(world.message_statistics().sent, world.rank() > 0 ? 1u : 0u);
    EXPECT_LE(world.message_statistics().sent_bytes, 1024 * sizeof(float));
  });
}

TEST_P(Distribution, RandomNumbersBelongToElementsOfTheWholeArray) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    static const Kernel draw{"draw", [](View<float, 2> x, Index first, Index begin, Index end) {
                               range_for(range(begin, end), x.extent(1), [&](Index i, Index j) {
                                 x(i, j) = random<float>((first + i) * x.extent(1) + j);
                               });
                             }};
    const LaunchOptions options{.seed = 5, .launch_number = 1};
    const Distributed<float, 2> x(world, stream, {31, 4}, uneven_cut(31, world.size(), 0));
    draw(options, stream, x.local(), x.origin(), x.owned().begin, x.owned().end);
    auto whole = stream.device().array<float>(stream, 31, 4);
    draw(options, stream, whole, 0, 0, 31);
    EXPECT_TRUE(
        same_bits(x.own().to_host(stream), whole.slice(x.rows().begin, x.rows().end).to_host(stream)));
  });
}

/// The message of the Error{invalid} that all of three ranks throw.
std::string refused_by_all(const std::function<void(const Communicator&, const StreamRef&)>& body) {
  const Ranks ranks("3");
  std::atomic<int> refused{0};
  std::string message;
  on_ranks([&](const Communicator& world, const StreamRef& stream) {
    const Error error = thrown_by([&] { body(world, stream); });
    EXPECT_EQ(error.code(), ErrorCode::invalid) << error.what();
    ++refused;
    if (world.rank() == 0) message = error.what();
    world.barrier();  // the group has not failed
  });
  EXPECT_EQ(refused, 3);
  return message;
}

TEST(DistributedErrors, NameTheRankAndTheCutsThatDiffer) {
  EXPECT_THAT(
      refused_by_all([](const Communicator& world, const StreamRef& stream) {
        const std::vector<std::int64_t> rows =
            world.rank() == 2 ? std::vector<std::int64_t>{3, 5, 4} : std::vector<std::int64_t>{4, 4, 4};
        const Distributed<float, 2> x(world, stream, {12, 5}, {.rows = rows, .halo = 1});
      }),
      HasSubstr(
          "Distributed: rank 2 makes 12 x 5 of f32, cut into 3, 5, 4 rows, with a halo of 1; rank 0 "
          "makes 12 x 5 of f32, cut into 4, 4, 4 rows, with a halo of 1; all ranks must give the same"));
}

TEST(DistributedErrors, NameTheHalosTypesAndEdgesThatDiffer) {
  EXPECT_THAT(refused_by_all([](const Communicator& world, const StreamRef& stream) {
                const Distributed<int> x(world, stream, {12}, {.halo = world.rank() == 1 ? 2 : 1});
              }),
              AllOf(HasSubstr("rank 1 makes 12 of i32"), HasSubstr("with a halo of 2; rank 0")));
  EXPECT_THAT(refused_by_all([](const Communicator& world, const StreamRef& stream) {
                const Distributed<int> x(world, stream, {12}, {.halo = 1, .periodic = world.rank() == 1});
              }),
              HasSubstr("with a halo of 1, periodic; rank 0"));
  EXPECT_THAT(refused_by_all([](const Communicator& world, const StreamRef& stream) {
                if (world.rank() == 1)
                  const Distributed<float> x(world, stream, {12});
                else
                  const Distributed<int> x(world, stream, {12});
              }),
              AllOf(HasSubstr("rank 1 makes 12 of f32"), HasSubstr("rank 0 makes 12 of i32")));
}

TEST(DistributedErrors, NameAPieceThatIsSmallerThanTheHalo) {
  EXPECT_THAT(refused_by_all([](const Communicator& world, const StreamRef& stream) {
                const Distributed<int> x(world, stream, {9}, {.rows = {4, 1, 4}, .halo = 2});
              }),
              HasSubstr("rank 1 owns 1 of 9 rows, fewer than the halo of 2"));
}

TEST(DistributedErrors, NameSizesThatDoNotAddUp) {
  const auto with = [](std::vector<std::int64_t> rows) {
    return refused_by_all([&](const Communicator& world, const StreamRef& stream) {
      const Distributed<int> x(world, stream, {9}, {.rows = rows});
    });
  };
  EXPECT_THAT(with({3, 3}), HasSubstr("the cut has 2 sizes; expected one for each of the 3 ranks"));
  EXPECT_THAT(with({3, 3, 2}), HasSubstr("add up to 8 rows; the array has 9"));
  EXPECT_THAT(with({3, 7, 2}), HasSubstr("the cut gives rank 1 7 rows, and 6 of 9 are left"));
  EXPECT_THAT(with({3, -1, 7}), HasSubstr("the cut gives rank 1 -1 rows"));
}

TEST(DistributedErrors, OfOneRankAreThrownByAll) {
  EXPECT_THAT(refused_by_all([](const Communicator& world, const StreamRef& stream) {
                Cut cut;
                cut.rows = {3, 3, world.rank() == 1 ? 2 : 3};
                const Distributed<int> x(world, stream, {9}, cut);
              }),
              HasSubstr("Distributed: rank 1: the sizes of the cut add up to 8 rows; the array has 9"));
}

TEST(DistributedErrors, NameAWholeArrayThatDoesNotFit) {
  EXPECT_THAT(refused_by_all([](const Communicator& world, const StreamRef& stream) {
                const Distributed<int, 2> x(world, stream, {9, 2});
                const auto whole = stream.device().array<int>(stream, 2, 9);
                x.gather(stream, whole, world.rank());
              }),
              HasSubstr("gather: the whole array on rank 0 is 2 x 9 of i32; expected 9 x 2 of i32"));
}

TEST(DistributedErrors, RefuseToOverlapArraysOfDifferentCuts) {
  EXPECT_THAT(refused_by_all([](const Communicator& world, const StreamRef& stream) {
                const Distributed<int> x(world, stream, {9}, {.halo = 1}), y(world, stream, {9});
                overlap_exchange(stream, {x, y}, [](Rows) {});
              }),
              HasSubstr("overlap_exchange: on rank 0"));
}

TEST(DistributedErrors, NameAWidthThatTheHaloDoesNotHave) {
  for (const std::int64_t width : {-1, 4})
    EXPECT_THAT(refused_by_all([&](const Communicator& world, const StreamRef& stream) {
                  const Distributed<int> x(world, stream, {12}, {.halo = 3});
                  overlap_exchange(
                      stream, {x}, [](Rows) {}, width);
                }),
                HasSubstr("a width of " + std::to_string(width) +
                          " along dimension 0, where the array has a halo of 3; expected 0 to 3"));
}

TEST(DistributedFailure, ARankThatThrowsEndsTheExchangeOfTheOthers) {
  const Ranks ranks("4");
  std::atomic<int> failed{0};
  EXPECT_THROW(on_ranks([&](const Communicator& world, const StreamRef& stream) {
                 const Distributed<float> x(world, stream, {100}, {.halo = 1, .periodic = true});
                 x.local().fill(stream, 1.0f);
                 if (world.rank() == 2) {
                   std::this_thread::sleep_for(100ms);
                   throw std::out_of_range("no such river");
                 }
                 const Error error = thrown_by([&] {
                   for (int step = 0; step < 100; ++step) {
                     x.exchange(stream);
                     world.synchronize(stream);
                   }
                 });
                 EXPECT_EQ(error.code(), ErrorCode::rank);
                 EXPECT_THAT(error.what(), HasSubstr("rank 2 ended the group: an exception ended it"));
                 ++failed;
                 throw error;
               }),
               std::out_of_range);
  EXPECT_EQ(failed, 3);
}

TEST(DistributedFailure, ARankThatHangsIsNamed) {
  const Ranks ranks("3", "0.5");
  std::atomic<int> failed{0};
  const Error first = thrown_by([&] {
    on_ranks([&](const Communicator& world, const StreamRef& stream) {
      const Distributed<float> x(world, stream, {100}, {.halo = 1});
      x.local().fill(stream, 1.0f);
      if (world.rank() == 2) std::this_thread::sleep_for(1500ms);
      const Error error = thrown_by([&] {
        x.exchange(stream);
        world.barrier();
      });
      EXPECT_EQ(error.code(), ErrorCode::rank);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("no answer within 0.5 s: "),
                                      HasSubstr("rank 2 has come no further than its call 1, all_reduce")));
      ++failed;
      throw error;
    });
  });
  EXPECT_EQ(first.code(), ErrorCode::rank);
  EXPECT_EQ(failed, 3);
}

}  // namespace
}  // namespace weir::test
