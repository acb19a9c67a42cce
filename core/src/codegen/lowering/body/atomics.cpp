// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/atomics.hpp"

#include "codegen/lowering/body/arithmetic.hpp"
#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

Value* Atomics::lower(Kind kind, Type type, Value* address, Value* operand, Value* expected) {
  using Rmw = llvm::AtomicRMWInst;
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  const auto scope = device_.device_scope(context_);
  const llvm::Align align(size_of(type));
  const bool with_sign = is_signed(type);
  if (kind == Kind::compare_exchange) {
    // Compares bits, so that -0 differs from 0 and a NaN equals itself.
    llvm::Type* bits = b_.getIntNTy(unsigned(8 * size_of(type)));
    Value* old = b_.CreateBitCast(expected, bits);
    Value* pair =
        b_.CreateAtomicCmpXchg(address, old, b_.CreateBitCast(operand, bits), align, relaxed, relaxed, scope);
    return b_.CreateBitCast(b_.CreateExtractValue(pair, 0), register_type(context_, type));
  }
  // No target's minimum instruction orders -0 below +0 and ignores NaN.
  if (is_float(type) && (kind == Kind::min || kind == Kind::max))
    return float_atomic(type, address, [&](Value* old) {
      return Arithmetic(f_).lower_binary(kind == Kind::min ? ir::Op::min : ir::Op::max, type, old, operand);
    });
  Rmw::BinOp op = Rmw::Xchg;
  switch (kind) {
    case Kind::add:
      op = is_float(type) ? Rmw::FAdd : Rmw::Add;
      break;
    case Kind::sub:
      op = is_float(type) ? Rmw::FSub : Rmw::Sub;
      break;
    case Kind::min:
      op = with_sign ? Rmw::Min : Rmw::UMin;
      break;
    case Kind::max:
      op = with_sign ? Rmw::Max : Rmw::UMax;
      break;
    case Kind::bit_and:
      op = Rmw::And;
      break;
    case Kind::bit_or:
      op = Rmw::Or;
      break;
    case Kind::bit_xor:
      op = Rmw::Xor;
      break;
    default:
      break;
  }
  // No device subtracts floats; a difference is the sum with the negated operand.
  if (op == Rmw::FSub) {
    op = Rmw::FAdd;
    operand = b_.CreateFNeg(operand);
  }
  if (op == Rmw::FAdd && !device_.adds_floats(type))
    return float_atomic(type, address, [&](Value* old) { return b_.CreateFAdd(old, operand); });
  if (op == Rmw::FAdd && type == Type::f32 && device_.adds_flush() && !kernel_.options.fast_math)
    return exact_add(address, operand);
  return device_atomic(op, type, address, operand);
}

Value* Atomics::device_atomic(llvm::AtomicRMWInst::BinOp op, Type type, Value* address, Value* operand) {
  llvm::AtomicRMWInst* atomic =
      b_.CreateAtomicRMW(op, address, operand, llvm::Align(size_of(type)), llvm::AtomicOrdering::Monotonic,
                         device_.device_scope(context_));
  device_.mark_atomic(*atomic);
  return atomic;
}

Value* Atomics::private_add(Type type, Value* address, Value* operand) {
  const llvm::Align align(size_of(type));
  Value* old = b_.CreateAlignedLoad(register_type(context_, type), address, align);
  b_.CreateAlignedStore(b_.CreateAdd(old, operand), address, align);
  return old;
}

/// An atomic read. AMD GPUs have no such instruction for a block's memory, and a plain one would be a race
/// that the simulator reports, so there it is an exchange that changes nothing.
Value* Atomics::read(Value* address, llvm::Type* bits) {
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  const auto scope = device_.device_scope(context_);
  const llvm::Align align(bits->getScalarSizeInBits() / 8);
  const ThreadModel* threads = device_.threads();
  if (threads && address->getType()->getPointerAddressSpace() == threads->shared_space()) {
    llvm::Constant* zero = llvm::ConstantInt::get(bits, 0);
    return b_.CreateExtractValue(b_.CreateAtomicCmpXchg(address, zero, zero, align, relaxed, relaxed, scope),
                                 0);
  }
  llvm::LoadInst* load = b_.CreateAlignedLoad(bits, address, align);
  load->setAtomic(relaxed, scope);
  return load;
}

/// A loop with compare-and-swap, which does not store an unchanged value; returns the old value.
Value* Atomics::float_atomic(Type type, Value* address, const std::function<Value*(Value*)>& change) {
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  const auto scope = device_.device_scope(context_);
  const llvm::Align align(size_of(type));
  llvm::Type* real = register_type(context_, type);
  llvm::Type* bits = b_.getIntNTy(unsigned(8 * size_of(type)));
  Value* first = read(address, bits);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = new_block("atomic");
  llvm::BasicBlock* store = new_block("atomic.store");
  llvm::BasicBlock* done = new_block("atomic.done");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* seen = b_.CreatePHI(bits, 2);
  seen->addIncoming(first, before);
  Value* old = b_.CreateBitCast(seen, real);
  Value* next = b_.CreateBitCast(change(old), bits);
  b_.CreateCondBr(b_.CreateICmpEQ(next, seen), done, store);
  b_.SetInsertPoint(store);
  Value* pair = b_.CreateAtomicCmpXchg(address, seen, next, align, relaxed, relaxed, scope);
  seen->addIncoming(b_.CreateExtractValue(pair, 0), store);
  b_.CreateCondBr(b_.CreateExtractValue(pair, 1), done, loop);
  b_.SetInsertPoint(done);
  return old;
}

/// An f32 addition on a device whose instruction treats subnormal numbers as 0. The instruction is exact for
/// operands of at least 2^-101: their ulp is 2^-124, so a result other than 0 is normal, and a subnormal
/// number is less than half an ulp. Smaller operands use the loop.
Value* Atomics::exact_add(Value* address, Value* operand) {
  llvm::BasicBlock* large = new_block("atomic.large");
  llvm::BasicBlock* small = new_block("atomic.small");
  llvm::BasicBlock* done = new_block("atomic.added");
  Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, operand);
  Value* is_large = b_.CreateFCmpUGE(magnitude, llvm::ConstantFP::get(b_.getFloatTy(), 0x1p-101));
  b_.CreateCondBr(is_large, large, small, llvm::MDBuilder(context_).createLikelyBranchWeights());
  b_.SetInsertPoint(large);
  Value* native = device_atomic(llvm::AtomicRMWInst::FAdd, Type::f32, address, operand);
  b_.CreateBr(done);
  b_.SetInsertPoint(small);
  Value* looped = float_atomic(Type::f32, address, [&](Value* old) { return b_.CreateFAdd(old, operand); });
  llvm::BasicBlock* end = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode* old = b_.CreatePHI(b_.getFloatTy(), 2);
  old->addIncoming(native, large);
  old->addIncoming(looped, end);
  return old;
}

}  // namespace weir::codegen
