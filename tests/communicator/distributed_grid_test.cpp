// SPDX-License-Identifier: Apache-2.0
// Arrays cut along several dimensions, over ranks that are threads, on the device of WEIR_DEVICE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "grid_checks.hpp"
#include "rank_environment.hpp"
#include "tested_device.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using OnRank = std::function<void(const Communicator&, const StreamRef&)>;

/// Runs body(world, stream) on each rank.
void on_grid_ranks(const OnRank& body) {
  Device device = open(tested_device());
  run_ranks([&] {
    const Communicator world = join();
    const Stream stream = device.create_stream();
    body(world, stream);
    world.synchronize(stream);
  });
}

class Grid : public testing::TestWithParam<const char*> {
 protected:
  Ranks ranks{GetParam()};
};
// A prime number of ranks cuts one dimension only, as in distributed_test.cpp.
INSTANTIATE_TEST_SUITE_P(Ranks, Grid, testing::Values("1", "2", "4", "6", "12"));

TEST_P(Grid, RandomCutsHaveTheirHalosBordersReductionsAndCopies) {
  on_grid_ranks([](const Communicator& world, const StreamRef& stream) {
    check_random_grids(world, stream, 1 + world.size(), 20);
  });
}

TEST_P(Grid, AStencilThatReadsCornersHasTheBitsOfOneArray) {
  on_grid_ranks([](const Communicator& world, const StreamRef& stream) {
    std::mt19937 random(11);
    for (const bool rows : {false, true})
      for (const bool columns : {false, true})
        for (const std::int64_t halo : {1, 2}) {
          check_grid_stencil(
              world, stream,
              {{37, 41}, {{.halo = halo, .periodic = rows}, {.halo = halo + 1, .periodic = columns}}});
          check_grid_stencil(
              world, stream,
              {{37, 41},
               {{.rows = uneven_cut(37, 1, halo).rows, .halo = halo, .periodic = rows},
                {.rows = uneven_cut(41, world.size(), halo + 1).rows, .halo = halo, .periodic = columns}}});
        }
  });
}

// The elements of a chunk are on several ranks of a line, in few long rows as in many short ones.
TEST_P(Grid, AReductionHasTheBitsOfOneArray) {
  on_grid_ranks([](const Communicator& world, const StreamRef& stream) {
    const std::uint32_t ranks = world.size();
    for (const std::array<std::int64_t, 2> extents :
         {std::array<std::int64_t, 2>{3, 20'011}, {1, 5'000}, {5'003, 13}, {150, 150}, {0, 7}, {7, 0}}) {
      check_grid_reductions<2>(world, stream, {extents, {{}, {}}});
      check_grid_reductions<2>(world, stream, {extents, {{.ranks = 1}, {.ranks = ranks}}});
      check_grid_reductions<2>(world, stream,
                               {extents, {{.ranks = 1}, {.rows = uneven_cut(extents[1], ranks, 0).rows}}});
    }
    check_grid_reductions<3>(world, stream, {{21, 17, 19}, {{}, {}, {}}});
    check_grid_reductions<3>(world, stream, {{2, 3, 4'001}, {{.ranks = 1}, {.ranks = 1}, {.ranks = ranks}}});
    check_grid_reductions<3>(world, stream, {{4, 1'000, 5}, {{.ranks = 1}, {.ranks = ranks}}});
    if (ranks % 2 != 0) return;
    check_grid_reductions<3>(world, stream,
                             {{5, 3, 1'009}, {{.ranks = 1}, {.ranks = 2}, {.ranks = ranks / 2}}});
    // The first line of ranks has enough rows for each, the second has not, and they share a chunk.
    check_grid_reductions<2>(world, stream, {{14, 31}, {{.rows = {13, 1}}, {.ranks = ranks / 2}}});
  });
}

TEST_P(Grid, KnowsItsPlacesAndItsBox) {
  on_grid_ranks([](const Communicator& world, const StreamRef& stream) {
    const Distributed<float, 3> x(world, stream, {60, 50, 5}, {{.halo = 2}, {.halo = 1, .periodic = true}});
    EXPECT_EQ(x.ranks(0) * x.ranks(1), world.size());
    EXPECT_EQ(x.ranks(2), 1u);
    EXPECT_EQ(x.place(world.rank(), 0) * x.ranks(1) + x.place(world.rank(), 1), world.rank());
    std::int64_t elements = 0;
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) elements += x.box(rank).size();
    EXPECT_EQ(elements, 60 * 50 * 5);
    EXPECT_EQ(x.box(world.rank())[1], x.rows(world.rank(), 1));
    EXPECT_EQ(x.origin(1) + x.owned(1).begin, x.rows(world.rank(), 1).begin);
    EXPECT_EQ(x.halo(), 2);
    EXPECT_EQ(x.halo(1), 1);
    EXPECT_EQ(x.halo(2), 0);
    EXPECT_FALSE(x.periodic());
    EXPECT_TRUE(x.periodic(1));
    EXPECT_TRUE(x.has_halos(1));
    const Distributed<double, 3> y(stream, x);
    EXPECT_EQ(y.box(0), x.box(0));
    EXPECT_EQ(y.owned_box(), x.owned_box());
  });
}

/// The grid that `cuts` leaves to be chosen for `ranks` ranks.
std::vector<std::uint32_t> chosen(const char* ranks, std::array<std::int64_t, 2> extents,
                                  std::vector<Cut> cuts) {
  const Ranks environment(ranks);
  std::vector<std::uint32_t> grid;
  on_grid_ranks([&](const Communicator& world, const StreamRef& stream) {
    const Distributed<float, 2> x(world, stream, extents, cuts);
    if (world.rank() == 0) grid = {x.ranks(0), x.ranks(1)};
  });
  return grid;
}

TEST(GridChoice, HasTheSmallestHalos) {
  EXPECT_THAT(chosen("4", {100, 100}, {{.halo = 1}, {.halo = 1}}), ElementsAre(2, 2));
  EXPECT_THAT(chosen("6", {100, 100}, {{.halo = 1}, {.halo = 1}}), ElementsAre(3, 2));
  EXPECT_THAT(chosen("6", {100, 300}, {{.halo = 1}, {.halo = 1}}), ElementsAre(2, 3));
  EXPECT_THAT(chosen("4", {100, 10'000}, {{.halo = 1}, {.halo = 1}}), ElementsAre(1, 4));
  EXPECT_THAT(chosen("4", {100, 100}, {{.halo = 1}, {.halo = 20}}), ElementsAre(4, 1));
  EXPECT_THAT(chosen("7", {100, 100}, {{.halo = 1}, {.halo = 1}}), ElementsAre(7, 1));
}

TEST(GridChoice, KeepsTheNumbersThatAreGiven) {
  EXPECT_THAT(chosen("6", {100, 100}, {{}, {.ranks = 6}}), ElementsAre(1, 6));
  EXPECT_THAT(chosen("6", {100, 100}, {{.rows = {40, 60}}, {}}), ElementsAre(2, 3));
  EXPECT_THAT(chosen("6", {100, 100}, {{}}), ElementsAre(6, 1));
  EXPECT_THAT(chosen("6", {100, 100}, {}), ElementsAre(6, 1));
}

TEST(GridChoice, AvoidsPiecesNarrowerThanTheHalo) {
  EXPECT_THAT(chosen("4", {7, 100}, {{.halo = 4}, {.halo = 4}}), ElementsAre(1, 4));
}

/// The message of the Error{invalid} that all of six ranks throw.
std::string refused_by_six(const OnRank& body) {
  const Ranks ranks("6");
  std::atomic<int> refused{0};
  std::string message;
  on_grid_ranks([&](const Communicator& world, const StreamRef& stream) {
    const Error error = thrown_by([&] { body(world, stream); });
    EXPECT_EQ(error.code(), ErrorCode::invalid) << error.what();
    ++refused;
    if (world.rank() == 0) message = error.what();
    world.barrier();  // the group has not failed
  });
  EXPECT_EQ(refused, 6);
  return message;
}

std::string refused_cuts(std::array<std::int64_t, 2> extents, std::vector<Cut> cuts) {
  return refused_by_six([&](const Communicator& world, const StreamRef& stream) {
    const Distributed<int, 2> x(world, stream, extents, cuts);
  });
}

TEST(GridErrors, NameCutsThatAreWrong) {
  EXPECT_THAT(refused_cuts({9, 8}, {{.ranks = 2}, {.ranks = 2}}),
              HasSubstr("the cuts make a grid of 2 x 2 ranks, and the group has 6; expected numbers whose "
                        "product is 6, or 0 for those to be chosen"));
  EXPECT_THAT(refused_cuts({9, 8}, {{.ranks = 4}, {}}),
              HasSubstr("the cuts make a grid of 4 x any ranks, and the group has 6"));
  EXPECT_THAT(refused_cuts({9, 8}, {{}, {}, {}}),
              HasSubstr("an array of 2 dimensions has 3 cuts; expected at most one for each dimension"));
  EXPECT_THAT(refused_cuts({9, 8}, {{}, {.rows = {4, 4}, .ranks = 3}}),
              HasSubstr("the cut along dimension 1 has 2 sizes for 3 ranks; expected one for each"));
  EXPECT_THAT(refused_cuts({9, 8}, {{}, {.rows = {4, 3}}}),
              HasSubstr("the sizes of the cut along dimension 1 add up to 7 indices; the array has 8"));
  EXPECT_THAT(refused_cuts({9, 8}, {{}, {.rows = {4, 5}}}),
              HasSubstr("the cut along dimension 1 gives place 1 5 indices, and 4 of 8 are left"));
  EXPECT_THAT(refused_cuts({9, 8}, {{}, {.halo = -1}}),
              HasSubstr("the halo of the cut along dimension 1 is -1 indices wide; expected 0 or more"));
  EXPECT_THAT(refused_cuts({9, 8}, {{.ranks = 3}, {.rows = {7, 1}, .halo = 2}}),
              HasSubstr("place 1 along dimension 1 owns 1 of 8 indices, fewer than the halo of 2 that its "
                        "neighbours need; use fewer ranks or another cut"));
}

TEST(GridErrors, NameTheRankAndTheCutsThatDiffer) {
  EXPECT_THAT(refused_by_six([](const Communicator& world, const StreamRef& stream) {
                const std::uint32_t rows = world.rank() == 4 ? 3 : 2;
                const Distributed<int, 2> x(world, stream, {12, 6}, {{.ranks = rows}, {.halo = 1}});
              }),
              HasSubstr("Distributed: rank 4 makes 12 x 6 of i32, cut along dimension 0 into 4, 4, 4 with a "
                        "halo of 0 and along dimension 1 into 3, 3 with a halo of 1; rank 0 makes 12 x 6 of "
                        "i32, cut along dimension 0 into 6, 6 with a halo of 0 and along dimension 1 into 2, "
                        "2, 2 with a halo of 1; all ranks must give the same"));
  EXPECT_THAT(refused_by_six([](const Communicator& world, const StreamRef& stream) {
                const Distributed<int, 2> x(world, stream, {12, 6},
                                            {{.ranks = 2}, {.halo = 1, .periodic = world.rank() == 3}});
              }),
              AllOf(HasSubstr("rank 3 makes"), HasSubstr("2, 2, 2 with a halo of 1, periodic; rank 0")));
}

TEST(GridErrors, RefuseRowsWhereColumnsHaveHalos) {
  EXPECT_THAT(refused_by_six([](const Communicator& world, const StreamRef& stream) {
                const Distributed<int, 2> x(world, stream, {12, 6}, {{.ranks = 3}, {.halo = 1}});
                static_cast<void>(x.own());
              }),
              HasSubstr("own: the array has a halo of 1 along dimension 1, so its own elements are not "
                        "contiguous; expected halos along the first dimension only. Copy them with "
                        "copy_own_to() and copy_own_from()"));
  EXPECT_THAT(refused_by_six([](const Communicator& world, const StreamRef& stream) {
                const Distributed<int, 2> x(world, stream, {12, 6}, {{.ranks = 6}, {.halo = 1}});
                overlap_exchange(stream, {x}, [](Rows) {});
              }),
              HasSubstr("overlap_exchange: an array has a halo of 1 along dimension 1, and the body takes "
                        "rows; expected halos along the first dimension only. Give a body that takes a Box"));
  EXPECT_THAT(
      refused_by_six([](const Communicator& world, const StreamRef& stream) {
        const Distributed<int, 2> x(world, stream, {12, 6}, {{.ranks = 3}, {.rows = {2, 4}, .halo = 1}}),
            y(world, stream, {12, 6}, {{.ranks = 3}, {.rows = {4, 2}, .halo = 1}});
        overlap_exchange(stream, {x, y}, [](const Box&) {});
      }),
      HasSubstr("overlap_exchange: on rank 0 an array has along dimension 1 indices 0 to 4 and a halo of 1, "
                "the first has indices 0 to 2 and a halo of 1; give all the same cuts"));
}

TEST(GridErrors, NameElementsThatAreNotThoseOfTheRank) {
  EXPECT_THAT(refused_by_six([](const Communicator& world, const StreamRef& stream) {
                const Distributed<int, 2> x(world, stream, {12, 6}, {{.ranks = 3}, {.ranks = 2}});
                x.copy_own_to(stream, stream.device().array<int>(stream, 11));
              }),
              HasSubstr("copy_own_to: rank 0 was given 11 elements of i32; expected the 12 of i32 that it "
                        "owns"));
}

}  // namespace
}  // namespace weir::test
