// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/space.hpp"

namespace weir::codegen {

using llvm::Value;

Space space_of(TaskFunction& f, const Iteration& around, const ir::Statement& loop) {
  Space space;
  Builder& b = f.b;
  for (std::size_t d = 0; d + 1 < loop.operands.size(); d += 2) {
    Value* low = around.value(loop.operands[d]);
    Value* high = around.value(loop.operands[d + 1]);
    Value* empty = b.CreateICmpSLE(high, low);
    Value* count = b.CreateSelect(empty, f.i64(0), b.CreateSub(high, low));
    space.low.push_back(low);
    space.high.push_back(b.CreateSelect(empty, low, high));
    space.count.push_back(count);
    space.total = space.total ? saturating_product(f, space.total, count) : count;
  }
  return space;
}

Value* saturating_product(TaskFunction& f, Value* a, Value* b) {
  if (f.device.assumptions().index32) return f.b.CreateMul(a, b, "", true, true);
  Value* both = f.b.CreateBinaryIntrinsic(llvm::Intrinsic::umul_with_overflow, a, b);
  Value* max_count = f.i64(~std::uint64_t{0} >> 1);
  Value* product =
      f.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, f.b.CreateExtractValue(both, 0), max_count);
  return f.b.CreateSelect(f.b.CreateExtractValue(both, 1), max_count, product);
}

}  // namespace weir::codegen
