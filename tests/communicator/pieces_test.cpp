// SPDX-License-Identifier: Apache-2.0
// The messages of one transfer over MPI.
#include <gtest/gtest.h>

#include <vector>

#include "pieces.hpp"

namespace weir::mpi {
namespace {

constexpr std::uint64_t piece = 4;

std::vector<std::uint64_t> sizes_of(std::uint64_t bytes) {
  std::vector<std::uint64_t> sizes;
  std::uint64_t end = 0;
  for_each_piece(bytes, piece, [&](std::uint64_t begin, std::uint64_t size) {
    EXPECT_EQ(begin, end);
    end = begin + size;
    sizes.push_back(size);
  });
  EXPECT_EQ(end, bytes);
  return sizes;
}

TEST(Pieces, AreWholeUpToAShorterOne) {
  EXPECT_EQ(sizes_of(0), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(sizes_of(3), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(sizes_of(8), (std::vector<std::uint64_t>{4, 4, 0}));
  EXPECT_EQ(sizes_of(9), (std::vector<std::uint64_t>{4, 4, 1}));
}

TEST(Pieces, OfUnequalTransfersDifferInAMessageThatBothHave) {
  for (std::uint64_t sent = 0; sent <= 3 * piece; ++sent)
    for (std::uint64_t received = 0; received < sent; ++received) {
      const std::vector<std::uint64_t> out = sizes_of(sent), in = sizes_of(received);
      bool differ = false;
      for (std::size_t i = 0; i < std::min(out.size(), in.size()); ++i) differ |= out[i] != in[i];
      EXPECT_TRUE(differ) << sent << " bytes sent, " << received << " received";
    }
}

}  // namespace
}  // namespace weir::mpi
