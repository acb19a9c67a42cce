// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations load from several rows: a block covers a tile of rows and columns, so that what one
// row loads is near when the next one needs it.
#include <bit>

#include "codegen/lowering.hpp"
#include "codegen/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

constexpr unsigned widest = 5;  // log2 of the columns of a tile: as many as fill lines of cache for a warp

}  // namespace

/// Cuts the last two dimensions into tiles: `count` is how many there are from here on. A tile is as wide as
/// leaves at most a quarter of its columns empty.
TaskLowering::Tiles TaskLowering::tile(std::vector<Value*>& count) {
  const ThreadModel& threads = *device_.threads();
  Value*& columns = count[count.size() - 1];
  Value*& rows = count[count.size() - 2];
  Value* shift = i64(0);
  for (unsigned s = 1; s <= widest; ++s) {
    const std::uint64_t size = std::uint64_t{1} << s;
    Value* padded = b_.CreateAnd(b_.CreateAdd(columns, i64(size - 1)), i64(~(size - 1)));
    Value* fits = b_.CreateICmpULE(b_.CreateSub(padded, columns), b_.CreateLShr(columns, 2));
    shift = b_.CreateSelect(fits, i64(s), shift);
  }
  Value* row_shift = b_.CreateSub(i64(std::uint64_t(std::countr_zero(threads.block_threads(task_)))), shift);
  const auto tiles = [&](Value* n, Value* by) {
    Value* size = b_.CreateShl(i64(1), by);
    return b_.CreateLShr(b_.CreateAdd(n, b_.CreateSub(size, i64(1))), by);
  };
  columns = tiles(columns, shift);
  rows = tiles(rows, row_shift);

  Tiles result;
  Value* thread = b_.CreateZExt(threads.thread(b_), word_);
  result.column_shift = b_.CreateZExtOrTrunc(shift, word_);
  result.row_shift = b_.CreateZExtOrTrunc(row_shift, word_);
  Value* one = llvm::ConstantInt::get(word_, 1);
  result.column = b_.CreateAnd(thread, b_.CreateSub(b_.CreateShl(one, result.column_shift), one));
  result.row = b_.CreateLShr(thread, result.column_shift);
  return result;
}

/// A block's share of n tiles.
Share TaskLowering::block_share(Value* n) {
  const ThreadModel& threads = *device_.threads();
  llvm::Type* wide = b_.getInt64Ty();
  return {b_.CreateZExt(threads.block(b_), wide), n,
          b_.CreateZExt(threads.grid(b_, threads.block_threads(task_)), wide)};
}

/// From a tile's place to the thread's; threads whose place is beyond `count` go `outside`.
void TaskLowering::enter_tile(const Tiles& tiles, const std::vector<Value*>& count, std::vector<Value*>& at,
                              llvm::BasicBlock* outside) {
  Value*& column = at[at.size() - 1];
  Value*& row = at[at.size() - 2];
  column = b_.CreateOr(b_.CreateShl(column, tiles.column_shift), tiles.column);
  row = b_.CreateOr(b_.CreateShl(row, tiles.row_shift), tiles.row);
  Value* inside = b_.CreateAnd(b_.CreateICmpULT(column, to_word(count[count.size() - 1])),
                               b_.CreateICmpULT(row, to_word(count[count.size() - 2])));
  llvm::BasicBlock* in = new_block("tile");
  b_.CreateCondBr(inside, in, outside);
  b_.SetInsertPoint(in);
}

}  // namespace weir::codegen
