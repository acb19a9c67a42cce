// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations load from several rows: a block covers a tile of rows and columns, so that
// neighbouring rows share loads in the cache.
#pragma once

#include <functional>
#include <vector>

#include "codegen/lowering/threads/words.hpp"

namespace weir::codegen {

class Tiles : private FunctionPart {
 public:
  /// Divides the last two dimensions of `count`, in words, into tiles. Each thread has `packets` places in a
  /// tile, in consecutive rows of the same column. A tile has the largest width that leaves at most a quarter
  /// of its columns empty.
  Tiles(TaskFunction& f, const std::vector<llvm::Value*>& count, std::uint32_t packets);

  /// Tiles per dimension, in words.
  const std::vector<llvm::Value*>& count() const { return count_; }
  /// A block's share of n tiles, in words.
  Share share(llvm::Value* n);
  /// Runs `body` at each place of this thread in the tile `at` that is inside the space.
  void run(std::vector<llvm::Value*> at, const std::function<void(const std::vector<llvm::Value*>&)>& body);

 private:
  Words words_;
  std::vector<llvm::Value*> places_, count_;
  std::uint32_t packets_;
  llvm::Value *row_ = nullptr, *column_ = nullptr;              // of the thread in a tile
  llvm::Value *row_shift_ = nullptr, *column_shift_ = nullptr;  // a tile's extents are powers of two
  llvm::Value* packet_step_ = nullptr;                          // rows from one packet to the next
};

}  // namespace weir::codegen
