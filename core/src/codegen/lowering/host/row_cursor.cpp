// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/host/row_cursor.hpp"

namespace weir::codegen {

using llvm::Value;

RowCursor::RowCursor(TaskFunction& f, const Space& space, Value* position)
    : FunctionPart(f),
      space_(space),
      outer_(space.rank() - 1),
      column_(stack_slot(b_.getInt64Ty(), 1, "column")) {
  b_.CreateStore(space.rank() == 1 ? position : b_.CreateURem(position, space.count.back()), column_);
  Value* rest = space.rank() == 1 ? nullptr : b_.CreateUDiv(position, space.count.back());
  for (std::size_t d = space.rank() - 1; d-- > 0;) {
    Value* within = d == 0 ? rest : b_.CreateURem(rest, space.count[d]);
    outer_[d] = stack_slot(b_.getInt64Ty(), 1, "row");
    b_.CreateStore(b_.CreateAdd(space.low[d], within), outer_[d]);
    if (d > 0) rest = b_.CreateUDiv(rest, space.count[d]);
  }
}

Value* RowCursor::column() {
  return b_.CreateLoad(b_.getInt64Ty(), column_);
}

std::vector<Value*> RowCursor::row() {
  std::vector<Value*> indices;
  for (llvm::AllocaInst* slot : outer_) indices.push_back(b_.CreateLoad(b_.getInt64Ty(), slot));
  return indices;
}

void RowCursor::advance(Value* by) {
  Value* moved = b_.CreateAdd(column(), by);
  if (space_.rank() == 1) {
    b_.CreateStore(moved, column_);
    return;
  }
  Value* carry = b_.CreateICmpEQ(moved, space_.count.back());
  b_.CreateStore(b_.CreateSelect(carry, i64(0), moved), column_);
  for (std::size_t d = outer_.size(); d-- > 0;) {
    Value* next =
        b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), outer_[d]), b_.CreateZExt(carry, b_.getInt64Ty()));
    carry = d == 0 ? nullptr : b_.CreateICmpEQ(next, space_.high[d]);
    b_.CreateStore(carry ? b_.CreateSelect(carry, space_.low[d], next) : next, outer_[d]);
  }
}

}  // namespace weir::codegen
