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

/// Cuts the last two dimensions into tiles, in which each thread has so many places, one below the other:
/// `count`, in words, is how many tiles there are from here on. A tile is as wide as leaves at most a quarter
/// of its columns empty.
TaskLowering::Tiles TaskLowering::tile(std::vector<Value*>& count, std::uint32_t packets) {
  const ThreadModel& threads = *device_.threads();
  const auto word = [&](std::uint64_t v) { return llvm::ConstantInt::get(word_, v); };
  Value*& columns = count[count.size() - 1];
  Value*& rows = count[count.size() - 2];
  Value* shift = word(0);
  Value* quarter = b_.CreateLShr(columns, 2);
  Value* missing = b_.CreateNeg(columns);  // to the next multiple of a power of two: its low bits
  for (unsigned s = 1; s <= widest; ++s) {
    Value* empty = b_.CreateAnd(missing, word((std::uint64_t{1} << s) - 1));
    shift = b_.CreateSelect(b_.CreateICmpULE(empty, quarter), word(s), shift);
  }
  Tiles result;
  result.column_shift = shift;
  Value* rows_shift =
      b_.CreateSub(word(std::uint64_t(std::countr_zero(threads.block_threads(kernel_, task_)))), shift);
  result.packets = packets;
  result.packet_step = b_.CreateShl(word(1), rows_shift);
  result.row_shift = b_.CreateAdd(rows_shift, word(std::uint64_t(std::countr_zero(packets))));
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
          b_.CreateZExt(threads.grid(b_, threads.block_threads(kernel_, task_)), word_)};
}

/// From a tile's place to those of the thread in it that are below `count`, and runs `body` there.
void TaskLowering::run_tile(const Tiles& tiles, const std::vector<Value*>& count, std::vector<Value*> at,
                            const std::function<void(const std::vector<Value*>&)>& body) {
  Value*& column = at[at.size() - 1];
  Value*& row = at[at.size() - 2];
  column = b_.CreateOr(b_.CreateShl(column, tiles.column_shift), tiles.column);
  row = b_.CreateOr(b_.CreateShl(row, tiles.row_shift), tiles.row);
  for (std::uint32_t packet = 0; packet < tiles.packets; ++packet) {
    if (packet > 0) row = b_.CreateAdd(row, tiles.packet_step);
    Value* inside = b_.CreateAnd(b_.CreateICmpULT(column, to_word(count[count.size() - 1])),
                                 b_.CreateICmpULT(row, to_word(count[count.size() - 2])));
    llvm::BasicBlock* in = new_block("tile");
    llvm::BasicBlock* next = new_block("tile.next");
    b_.CreateCondBr(inside, in, next);
    b_.SetInsertPoint(in);
    body(at);
    jump(next);
    b_.SetInsertPoint(next);
  }
}

}  // namespace weir::codegen
