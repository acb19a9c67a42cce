// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir::mpi {

/// Calls post(begin, size) for each message of a transfer of `bytes` bytes. The last message is shorter than
/// `piece`, and possibly empty. So if the sizes of the two sides differ, a message of both does.
template <class Post>
void for_each_piece(std::uint64_t bytes, std::uint64_t piece, Post post) {
  std::uint64_t begin = 0, size = 0;
  do {
    size = std::min(piece, bytes - begin);
    post(begin, size);
    begin += size;
  } while (size == piece);
}

}  // namespace weir::mpi
