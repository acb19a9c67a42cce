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

/// Cuts the last two dimensions into tiles: `count`, in words, is how many there are from here on. A tile is
/// as wide as leaves at most a quarter of its columns empty.
TaskLowering::Tiles TaskLowering::tile(std::vector<Value*>& count) {
  const ThreadModel& threads = *device_.threads();
  const auto word = [&](std::uint64_t v) { return llvm::ConstantInt::get(word_, v); };
  Value*& columns = count[count.size() - 1];
  Value*& rows = count[count.size() - 2];
  Value* shift = word(0);
  for (unsigned s = 1; s <= widest; ++s) {
    const std::uint64_t size = std::uint64_t{1} << s;
    Value* padded = b_.CreateAnd(b_.CreateAdd(columns, word(size - 1)), word(~(size - 1)));
    Value* fits = b_.CreateICmpULE(b_.CreateSub(padded, columns), b_.CreateLShr(columns, 2));
    shift = b_.CreateSelect(fits, word(s), shift);
  }
  Tiles result;
  result.column_shift = shift;
  result.row_shift = b_.CreateSub(word(std::uint64_t(std::countr_zero(threads.block_threads(task_)))), shift);
  const auto tiles = [&](Value* n, Value* by) {
    return b_.CreateLShr(b_.CreateAdd(n, b_.CreateSub(b_.CreateShl(word(1), by), word(1))), by);
  };
  columns = tiles(columns, result.column_shift);
  rows = tiles(rows, result.row_shift);
  Value* thread = b_.CreateZExt(threads.thread(b_), word_);
  result.column = b_.CreateAnd(thread, b_.CreateSub(b_.CreateShl(word(1), shift), word(1)));
  result.row = b_.CreateLShr(thread, shift);
  return result;
}

/// A block's share of n tiles, in words.
Share TaskLowering::block_share(Value* n) {
  const ThreadModel& threads = *device_.threads();
  return {b_.CreateZExt(threads.block(b_), word_), n,
          b_.CreateZExt(threads.grid(b_, threads.block_threads(task_)), word_)};
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
