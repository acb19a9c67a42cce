// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/reduction.hpp"

#include "codegen/lowering/body/arithmetic.hpp"
#include "codegen/lowering/body/body_lowering.hpp"

namespace weir::codegen {

using llvm::Value;

Reduction::Reduction(TaskFunction& f, ir::ReduceKind kind, ScalarType type, const ReduceScratch& scratch)
    : FunctionPart(f), kind_(kind), scalar_(type), type_(memory_type(context_, type)), scratch_(scratch) {}

Reduction::Reduction(TaskFunction& f, const ir::Statement& loop, const ReduceScratch& scratch)
    : Reduction(f, static_cast<ir::ReduceKind>(loop.index), loop.type, scratch) {}

llvm::Constant* Reduction::identity() {
  switch (kind_) {
    case ir::ReduceKind::all:
      return b_.getInt8(1);
    case ir::ReduceKind::bit_and:
      return llvm::Constant::getAllOnesValue(type_);
    case ir::ReduceKind::any:
    case ir::ReduceKind::bit_or:
    case ir::ReduceKind::bit_xor:
    case ir::ReduceKind::sum:
      return llvm::Constant::getNullValue(type_);
    default:
      break;
  }
  const bool smallest = kind_ == ir::ReduceKind::max;  // max starts from the smallest value of the type
  if (scalar_ >= Type::f16) return llvm::ConstantFP::getInfinity(type_, smallest);
  const unsigned width = type_->getIntegerBitWidth();
  if (is_signed(scalar_))
    return llvm::ConstantInt::get(
        type_, smallest ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getSignedMaxValue(width));
  return llvm::ConstantInt::get(type_,
                                smallest ? llvm::APInt::getMinValue(width) : llvm::APInt::getMaxValue(width));
}

Value* Reduction::combine(Value* a, Value* b) {
  switch (kind_) {
    case ir::ReduceKind::any:
    case ir::ReduceKind::bit_or:
      return b_.CreateOr(a, b);
    case ir::ReduceKind::all:
    case ir::ReduceKind::bit_and:
      return b_.CreateAnd(a, b);
    case ir::ReduceKind::bit_xor:
      return b_.CreateXor(a, b);
    case ir::ReduceKind::sum:
      return is_float(scalar_) ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    default:
      return Arithmetic(f_).lower_binary(kind_ == ir::ReduceKind::min ? ir::Op::min : ir::Op::max, scalar_, a,
                                         b);
  }
}

std::pair<Value*, Value*> Reduction::chunks_of(Value* n) {
  Value* even = b_.CreateUDiv(b_.CreateAdd(n, i64(ir::reduce_max_chunks - 1)), i64(ir::reduce_max_chunks));
  Value* rounded = b_.CreateAnd(b_.CreateAdd(even, i64(ir::reduce_lanes - 1)), i64(~(ir::reduce_lanes - 1)));
  Value* size = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, rounded, i64(1024));
  return {size, b_.CreateUDiv(b_.CreateAdd(n, b_.CreateSub(size, i64(1))), size)};
}

Value* Reduction::chunk_count_address() {
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), f_.arguments.scratch(), i64(scratch_.partials));
}

Value* Reduction::partial_address(Value* chunk) {
  Value* first = b_.CreateInBoundsGEP(b_.getInt8Ty(), f_.arguments.scratch(),
                                      i64(scratch_.partials + ir::reduce_header));
  return b_.CreateInBoundsGEP(type_, first, chunk);
}

Value* Reduction::result_address() {
  return f_.scratch_address(scratch_.result);
}

bool Reduction::combines_in_each_block() const {
  return f_.replicated && f_.replicated->copy_at(scratch_.result).has_value();
}

void Reduction::accumulate(const Iteration& around, const ir::Statement& loop,
                           const std::vector<Value*>& indices, Value* address, llvm::MDNode* access_group) {
  Iteration iteration(around, loop, indices);
  iteration.access_group = access_group;
  iteration.end = new_block("iteration.end");
  iteration.loops.push_back({nullptr, iteration.end});
  BodyLowering(f_, iteration).lower(loop.bodies.at(0));
  if (!f_.ended() && iteration.yielded) {
    Value* element = iteration.yielded;
    if (scalar_ == Type::boolean) element = b_.CreateZExt(element, type_);
    b_.CreateStore(combine(b_.CreateLoad(type_, address), element), address);
  }
  jump(iteration.end);
  b_.SetInsertPoint(iteration.end);
}

}  // namespace weir::codegen
