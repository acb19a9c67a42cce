// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/tiles.hpp"

#include <bit>

#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

constexpr unsigned widest = 5;  // log2 of the columns of a tile: they fill cache lines for a warp

}  // namespace

Tiles::Tiles(TaskFunction& f, const std::vector<Value*>& count, std::uint32_t packets)
    : FunctionPart(f), words_(f), places_(count), count_(count), packets_(packets) {
  const ThreadModel& threads = *device_.threads();
  const auto word = [&](std::uint64_t v) { return words_.word(v); };
  Value*& columns = count_[count_.size() - 1];
  Value*& rows = count_[count_.size() - 2];
  Value* shift = word(0);
  Value* quarter = b_.CreateLShr(columns, 2);
  Value* missing = b_.CreateNeg(columns);  // to the next multiple of a power of two: its low bits
  for (unsigned s = 1; s <= widest; ++s) {
    Value* empty = b_.CreateAnd(missing, word((std::uint64_t{1} << s) - 1));
    shift = b_.CreateSelect(b_.CreateICmpULE(empty, quarter), word(s), shift);
  }
  column_shift_ = shift;
  Value* rows_shift =
      b_.CreateSub(word(std::uint64_t(std::countr_zero(threads.block_threads(kernel_, task_)))), shift);
  packet_step_ = b_.CreateShl(word(1), rows_shift);
  row_shift_ = b_.CreateAdd(rows_shift, word(std::uint64_t(std::countr_zero(packets))));
  const auto tiles = [&](Value* n, Value* by) {
    return b_.CreateLShr(b_.CreateAdd(n, b_.CreateSub(b_.CreateShl(word(1), by), word(1))), by);
  };
  columns = tiles(columns, column_shift_);
  rows = tiles(rows, row_shift_);
  Value* thread = b_.CreateZExt(threads.thread(b_), words_.type());
  column_ = b_.CreateAnd(thread, b_.CreateSub(b_.CreateShl(word(1), shift), word(1)));
  row_ = b_.CreateLShr(thread, shift);
}

Share Tiles::share(Value* n) {
  return {b_.CreateZExt(f_.block(), words_.type()), n, b_.CreateZExt(f_.blocks(), words_.type())};
}

void Tiles::run(std::vector<Value*> at, const std::function<void(const std::vector<Value*>&)>& body) {
  Value*& column = at[at.size() - 1];
  Value*& row = at[at.size() - 2];
  column = b_.CreateOr(b_.CreateShl(column, column_shift_), column_);
  row = b_.CreateOr(b_.CreateShl(row, row_shift_), row_);
  for (std::uint32_t packet = 0; packet < packets_; ++packet) {
    if (packet > 0) row = b_.CreateAdd(row, packet_step_);
    Value* inside = b_.CreateAnd(b_.CreateICmpULT(column, places_[places_.size() - 1]),
                                 b_.CreateICmpULT(row, places_[places_.size() - 2]));
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
