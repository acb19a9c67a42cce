// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/atomics.hpp"

#include "codegen/lowering/body/arithmetic.hpp"
#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

using Rmw = llvm::AtomicRMWInst;

/// The instruction of most devices; BAD_BINOP for operations that no device has.
Rmw::BinOp instruction(ir::AtomicKind kind, ScalarType type) {
  using Kind = ir::AtomicKind;
  switch (kind) {
    case Kind::add:
      return is_float(type) ? Rmw::FAdd : Rmw::Add;
    case Kind::sub:
      return is_float(type) ? Rmw::FSub : Rmw::Sub;
    // No target's minimum of floats orders -0 below +0 and ignores NaN.
    case Kind::min:
      return is_float(type) ? Rmw::BAD_BINOP : is_signed(type) ? Rmw::Min : Rmw::UMin;
    case Kind::max:
      return is_float(type) ? Rmw::BAD_BINOP : is_signed(type) ? Rmw::Max : Rmw::UMax;
    case Kind::bit_and:
      return Rmw::And;
    case Kind::bit_or:
      return Rmw::Or;
    case Kind::bit_xor:
      return Rmw::Xor;
    case Kind::exchange:
      return Rmw::Xchg;
    default:
      return Rmw::BAD_BINOP;
  }
}

ir::Op operation(ir::AtomicKind kind) {
  using Kind = ir::AtomicKind;
  switch (kind) {
    case Kind::add:
      return ir::Op::add;
    case Kind::sub:
      return ir::Op::sub;
    case Kind::mul:
      return ir::Op::mul;
    case Kind::min:
      return ir::Op::min;
    default:
      return ir::Op::max;
  }
}

bool is_bitwise(Rmw::BinOp op) {
  return op == Rmw::And || op == Rmw::Or || op == Rmw::Xor;
}

}  // namespace

Value* Atomics::lower(Kind kind, Type type, Value* address, Value* operand, Value* expected) {
  if (kind == Kind::compare_exchange) return compare_exchange(type, address, expected, operand);
  Rmw::BinOp op = instruction(kind, type);
  // No device subtracts floats; a difference is the sum with the negated operand.
  if (op == Rmw::FSub) {
    op = Rmw::FAdd;
    kind = Kind::add;
    operand = b_.CreateFNeg(operand);
  }
  const Change change = [&](Value* old) {
    return kind == Kind::exchange ? operand : combine(operation(kind), type, old, operand);
  };
  if (op == Rmw::BAD_BINOP) return update(type, address, change);
  if (op == Rmw::FAdd) {
    if (!device_.adds_floats(type, in_block(address))) return update(type, address, change);
    if (type == Type::f32 && device_.adds_flush() && !kernel_.options.fast_math)
      return exact_add(address, operand);
    return device_atomic(op, type, address, operand);
  }
  const Cell cell = cell_of(type, address);
  if (!cell.shift) return device_atomic(op, type, address, operand);
  return is_bitwise(op) ? update_bits(op, type, cell, operand) : update(type, address, change);
}

Value* Atomics::combine(ir::Op op, Type type, Value* a, Value* b) {
  Arithmetic arithmetic(f_);
  if (type != Type::f16) return arithmetic.lower_binary(op, type, a, b);
  // The exact sum or product of two f16 rounds equally through f32.
  const auto widened = [&](Value* v) { return arithmetic.lower_cast(Type::f16, Type::f32, v); };
  return arithmetic.lower_cast(Type::f32, Type::f16,
                               arithmetic.lower_binary(op, Type::f32, widened(a), widened(b)));
}

bool Atomics::in_block(Value* address) const {
  const ThreadModel* threads = device_.threads();
  return threads && address->getType()->getPointerAddressSpace() == threads->shared_space();
}

Atomics::Cell Atomics::cell_of(Type type, Value* address) {
  if (size_of(type) >= 4 || !device_.threads()) return {address, b_.getIntNTy(unsigned(8 * size_of(type)))};
  if (in_block(address)) return {address, b_.getInt32Ty(), b_.getInt32(0)};
  Value* below = b_.CreateAnd(b_.CreatePtrToInt(address, b_.getInt64Ty()), i64(3));
  Value* word = b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateNeg(below));
  return {word, b_.getInt32Ty(), b_.CreateShl(b_.CreateTrunc(below, b_.getInt32Ty()), i32(3))};
}

Value* Atomics::element_in(const Cell& cell, Type type, Value* bits) {
  if (cell.shift) bits = b_.CreateTrunc(b_.CreateLShr(bits, cell.shift), b_.getIntNTy(8 * size_of(type)));
  return b_.CreateBitCast(bits, register_type(context_, type));
}

Value* Atomics::with_element(const Cell& cell, Type type, Value* bits, Value* element) {
  llvm::IntegerType* own = b_.getIntNTy(8 * size_of(type));
  element = b_.CreateBitCast(element, own);
  if (!cell.shift) return element;
  Value* mask = b_.CreateShl(i32(std::uint32_t(own->getBitMask())), cell.shift);
  Value* placed = b_.CreateShl(b_.CreateZExt(element, cell.bits), cell.shift);
  return b_.CreateOr(b_.CreateAnd(bits, b_.CreateNot(mask)), placed);
}

/// Compares bits, so that -0 differs from 0 and a NaN equals itself.
Value* Atomics::compare_exchange(Type type, Value* address, Value* expected, Value* desired) {
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  llvm::Type* bits = b_.getIntNTy(8 * size_of(type));
  expected = b_.CreateBitCast(expected, bits);
  const Cell cell = cell_of(type, address);
  if (cell.shift)
    return update(type, address, [&](Value* old) {
      return b_.CreateSelect(b_.CreateICmpEQ(b_.CreateBitCast(old, bits), expected), desired, old);
    });
  Value* pair =
      b_.CreateAtomicCmpXchg(address, expected, b_.CreateBitCast(desired, bits), llvm::Align(size_of(type)),
                             relaxed, relaxed, device_.device_scope(context_));
  return element_in(cell, type, b_.CreateExtractValue(pair, 0));
}

/// One operation on the word, whose operand leaves the other bytes as they are.
Value* Atomics::update_bits(Rmw::BinOp op, Type type, const Cell& cell, Value* operand) {
  Value* others = op == Rmw::And ? i32(~0u) : i32(0);
  Value* old = device_atomic(op, Type::u32, cell.address, with_element(cell, type, others, operand));
  return element_in(cell, type, old);
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

Value* Atomics::register_add(llvm::AllocaInst* sum, Value* operand) {
  llvm::Type* type = sum->getAllocatedType();
  Value* old = b_.CreateLoad(type, sum);
  b_.CreateStore(b_.CreateFAdd(old, b_.CreateFPCast(operand, type)), sum);
  return operand;
}

/// An atomic read. AMD GPUs have no such instruction for a block's memory. A plain one would be a race that
/// the simulator reports, so there it is an exchange that changes nothing.
Value* Atomics::read(const Cell& cell) {
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  const auto scope = device_.device_scope(context_);
  const llvm::Align align(cell.bits->getBitWidth() / 8);
  if (in_block(cell.address)) {
    llvm::Constant* zero = llvm::ConstantInt::get(cell.bits, 0);
    return b_.CreateExtractValue(
        b_.CreateAtomicCmpXchg(cell.address, zero, zero, align, relaxed, relaxed, scope), 0);
  }
  llvm::LoadInst* load = b_.CreateAlignedLoad(cell.bits, cell.address, align);
  load->setAtomic(relaxed, scope);
  return load;
}

/// A loop with compare-and-swap, which does not store an unchanged value; returns the old value.
Value* Atomics::update(Type type, Value* address, const Change& change) {
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  const auto scope = device_.device_scope(context_);
  const Cell cell = cell_of(type, address);
  const llvm::Align align(cell.bits->getBitWidth() / 8);
  Value* first = read(cell);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = new_block("atomic");
  llvm::BasicBlock* store = new_block("atomic.store");
  llvm::BasicBlock* done = new_block("atomic.done");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* seen = b_.CreatePHI(cell.bits, 2);
  seen->addIncoming(first, before);
  Value* old = element_in(cell, type, seen);
  Value* next = with_element(cell, type, seen, change(old));
  b_.CreateCondBr(b_.CreateICmpEQ(next, seen), done, store);
  b_.SetInsertPoint(store);
  Value* pair = b_.CreateAtomicCmpXchg(cell.address, seen, next, align, relaxed, relaxed, scope);
  seen->addIncoming(b_.CreateExtractValue(pair, 0), store);
  b_.CreateCondBr(b_.CreateExtractValue(pair, 1), done, loop);
  b_.SetInsertPoint(done);
  return old;
}

/// An f32 addition on a device whose instruction treats subnormal numbers as 0. The instruction is exact for
/// operands of at least 2^-101. Their ulp is 2^-124, so a result other than 0 is normal, and a subnormal
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
  Value* looped = update(Type::f32, address, [&](Value* old) { return b_.CreateFAdd(old, operand); });
  llvm::BasicBlock* end = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode* old = b_.CreatePHI(b_.getFloatTy(), 2);
  old->addIncoming(native, large);
  old->addIncoming(looped, end);
  return old;
}

}  // namespace weir::codegen
