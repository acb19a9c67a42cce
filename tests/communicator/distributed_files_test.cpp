// SPDX-License-Identifier: Apache-2.0
// Distributed arrays in files, over ranks that are threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <weir/distributed_files.hpp>

#include "distributed_checks.hpp"
#include "rank_environment.hpp"
#include "temporary_folder.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

class DistributedFiles : public testing::TestWithParam<const char*> {
 protected:
  /// Runs body(world, stream) on each rank.
  static void on_ranks(const std::function<void(const Communicator&, const StreamRef&)>& body) {
    Device device = open("cpu");
    run_ranks([&] {
      const Communicator world = join();
      const Stream stream = device.create_stream();
      body(world, stream);
    });
  }

  Ranks ranks{GetParam()};
  const TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
};
INSTANTIATE_TEST_SUITE_P(Ranks, DistributedFiles, testing::Values("1", "2", "3", "4", "6", "7"));

TEST_P(DistributedFiles, EachRankWritesAndReadsItsRowsOfOneFile) {
  const std::vector<float> values = rough_values(23 * 4 * 2);
  write_npy(folder / "in.npy", HostArray::of<float>({23, 4, 2}, values));
  on_ranks([&](const Communicator& world, const StreamRef& stream) {
    using Pair = Vec<float, 2>;
    const Distributed<Pair, 2> x(world, stream, {23, 4}, {.halo = 1}),
        y(world, stream, {23, 4}, uneven_cut(23, world.size(), 0));
    x.local().fill(stream, Pair{-1, -1});
    read_npy(stream, folder / "in.npy", x);
    y.copy_from(stream, x);
    write_npy(stream, folder / "out.npy", y);
    const HostArray written = read_npy(folder / "out.npy");  // complete on every rank
    EXPECT_THAT(written.shape, testing::ElementsAre(23, 4, 2));
    EXPECT_TRUE(std::ranges::equal(written.values<float>(), values));
    const std::vector<Pair> all = x.local().to_host(stream);
    if (x.origin() < x.rows().begin) {
      EXPECT_EQ(all.front(), (Pair{-1, -1}));  // the halo
    }
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "out.npy.part"));
}

TEST_P(DistributedFiles, EachRankWritesAndReadsItsBoxOfOneFile) {
  const std::vector<float> values = rough_values(23 * 14 * 5 * 2);
  write_npy(folder / "in.npy", HostArray::of<float>({23, 14, 5, 2}, values));
  on_ranks([&](const Communicator& world, const StreamRef& stream) {
    using Pair = Vec<float, 2>;
    const Distributed<Pair, 3> x(world, stream, {23, 14, 5}, {{.halo = 1}, {.halo = 2, .periodic = true}}),
        y(world, stream, {23, 14, 5}, {{.ranks = 1}, {.rows = uneven_cut(14, world.size(), 0).rows}});
    x.local().fill(stream, Pair{-1, -1});
    read_npy(stream, folder / "in.npy", x);
    std::size_t set = 0;
    for (const Pair& pair : x.local().to_host(stream)) set += pair[0] != -1;
    EXPECT_EQ(set, static_cast<std::size_t>(x.owned_box().size()));  // not the halos
    y.copy_from(stream, x);
    write_npy(stream, folder / "out.npy", y);
    EXPECT_TRUE(std::ranges::equal(read_npy(folder / "out.npy").values<float>(), values));
    write_npy(stream, folder / "again.npy", x);
    EXPECT_TRUE(std::ranges::equal(read_npy(folder / "again.npy").values<float>(), values));
  });
}

TEST_P(DistributedFiles, AFileOfAnotherShapeIsRefusedOnEveryRank) {
  write_npy(folder / "in.npy", HostArray::of<float>({2, 3}, rough_values(6)));
  EXPECT_THAT(
      thrown_by([&] {
        on_ranks([&](const Communicator& world, const StreamRef& stream) {
          const Distributed<float, 2> x(world, stream, {3, 2});
          read_npy(stream, folder / "in.npy", x);
        });
      }).what(),
      HasSubstr("in.npy: the file holds f32 of the shape (2, 3); the array is of f32 with the shape (3, 2)"));
}

TEST_P(DistributedFiles, AFailureKeepsTheFileBeforeAndEndsTheOtherRanks) {
  const HostArray before = HostArray::of<float>({2, 3}, rough_values(6));
  write_npy(folder / "x.npy", before);
  std::filesystem::create_directory(folder / "x.npy.part");  // in the way of the new file
  const Error error = thrown_by([&] {
    on_ranks([&](const Communicator& world, const StreamRef& stream) {
      const Distributed<float> x(world, stream, {40});
      x.own().fill(stream, 1.0f);
      const Error mine = thrown_by([&] { write_npy(stream, folder / "x.npy", x); });
      EXPECT_THAT(mine.what(), HasSubstr("x.npy.part: cannot create the file: Is a directory"));
      EXPECT_EQ(mine.code(), world.rank() == 0 ? ErrorCode::system : ErrorCode::rank);
      throw mine;
    });
  });
  EXPECT_EQ(error.code(), ErrorCode::system);
  EXPECT_EQ(read_npy(folder / "x.npy").data, before.data);
}

}  // namespace
}  // namespace weir::test
