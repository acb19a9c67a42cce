// SPDX-License-Identifier: Apache-2.0
// Arrays, locals, temporaries and atomics.
#include <algorithm>
#include <weir/error.hpp>

#include "codegen/lowering.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

constexpr std::uint64_t row_bytes = 16;  // see Facts::aligned

}  // namespace

/// An extent that an address is made with; where rows begin at multiples of 16 bytes, LLVM is shown that they
/// do.
Value* TaskLowering::row_extent(std::uint32_t parameter, std::uint32_t dimension) {
  Value* all = extent(parameter, dimension);
  const ir::Parameter& array = kernel_.parameters.at(parameter);
  if (!device_.facts().aligned || dimension + 1 != array.rank) return all;
  const std::uint64_t size = array.element.size();
  const std::uint64_t multiple = row_bytes / std::min(row_bytes, size & (~size + 1));
  return multiple > 1 ? b_.CreateAnd(all, i64(~(multiple - 1))) : all;
}

// Indices lie inside the array, and an array's bytes fit in the address space, so no step of the address
// wraps.
Value* TaskLowering::element_address(const ir::Statement& s, std::size_t operands) {
  const ir::Parameter& array = kernel_.parameters.at(s.index);
  std::vector<Value*> indices;
  for (std::size_t d = 0; d < array.rank; ++d) indices.push_back(value(s.operands.at(d)));
  if (indices.size() > operands)
    throw Error(ErrorCode::compile, "kernel '" + kernel_.name + "': an access to '" + array.name + "' has " +
                                        std::to_string(operands) + " indices, expected " +
                                        std::to_string(array.rank));
  if (kernel_.options.check_bounds) {
    std::vector<Value*> extents;
    for (std::size_t d = 0; d < indices.size(); ++d) extents.push_back(extent(s.index, std::uint32_t(d)));
    check_index(s, indices, extents);
  }
  if (!arrays_.at(s.index))
    throw Error(ErrorCode::compile, "kernel '" + kernel_.name + "', task '" + task_.name + "': array '" +
                                        array.name + "' is used but is no task argument");
  Value* offset = indices[0];
  for (std::size_t d = 1; d < indices.size(); ++d)
    offset = b_.CreateAdd(b_.CreateMul(offset, row_extent(s.index, std::uint32_t(d)), "", true, true),
                          indices[d], "", true, true);
  llvm::Type* scalar = memory_type(context_, array.element.scalar);
  const auto flags = llvm::GEPNoWrapFlags::inBounds() | llvm::GEPNoWrapFlags::noUnsignedWrap();
  const std::uint64_t lanes = array.element.lanes();
  if (lanes == 1) return b_.CreateGEP(scalar, arrays_[s.index], {offset}, "", flags);
  return b_.CreateGEP(llvm::ArrayType::get(scalar, lanes), arrays_[s.index], {offset, i64(s.lane)}, "",
                      flags);
}

Value* TaskLowering::load_scalar(Type type, Value* address, bool independent) {
  llvm::LoadInst* load =
      b_.CreateAlignedLoad(memory_type(context_, type), address, llvm::Align(size_of(type)));
  if (independent && access_group_) load->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
  return type == Type::boolean ? b_.CreateICmpNE(load, b_.getInt8(0)) : static_cast<Value*>(load);
}

void TaskLowering::store_scalar(Type type, Value* v, Value* address, bool independent) {
  if (type == Type::boolean) v = b_.CreateZExt(v, b_.getInt8Ty());
  llvm::StoreInst* store = b_.CreateAlignedStore(v, address, llvm::Align(size_of(type)));
  if (independent && access_group_) store->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
}

Value* TaskLowering::lower_atomic(const ir::Statement& s) {
  using Kind = ir::AtomicKind;
  using Rmw = llvm::AtomicRMWInst;
  const auto kind = static_cast<Kind>(s.immediate);
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  const auto scope = device_.device_scope(context_);
  const llvm::Align align(size_of(s.type));
  const bool with_sign = is_signed(s.type);
  const std::size_t values = kind == Kind::compare_exchange ? 2 : 1;
  Value* address = element_address(s, s.operands.size() - values);
  Value* operand = value(s.operands.back());
  if (kind == Kind::compare_exchange) {
    // Bits are compared, so that -0 is not 0 and a NaN equals itself.
    llvm::Type* bits = b_.getIntNTy(unsigned(8 * size_of(s.type)));
    Value* expected = b_.CreateBitCast(value(s.operands[s.operands.size() - 2]), bits);
    Value* pair = b_.CreateAtomicCmpXchg(address, expected, b_.CreateBitCast(operand, bits), align, relaxed,
                                         relaxed, scope);
    return b_.CreateBitCast(b_.CreateExtractValue(pair, 0), register_type(context_, s.type));
  }
  // No target's own minimum orders -0 below +0 and drops NaN.
  if (is_float(s.type) && (kind == Kind::min || kind == Kind::max))
    return float_atomic(s.type, address, [&](Value* old) {
      return lower_binary(kind == Kind::min ? ir::Op::min : ir::Op::max, s.type, old, operand);
    });
  Rmw::BinOp op = Rmw::Xchg;
  switch (kind) {
    case Kind::add:
      op = is_float(s.type) ? Rmw::FAdd : Rmw::Add;
      break;
    case Kind::sub:
      op = is_float(s.type) ? Rmw::FSub : Rmw::Sub;
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
  if (op == Rmw::FSub) {  // which no device has; a difference is the same as the sum with the negated operand
    op = Rmw::FAdd;
    operand = b_.CreateFNeg(operand);
  }
  if (op == Rmw::FAdd && s.type == Type::f32 && device_.adds_flush() && !kernel_.options.fast_math)
    return exact_add(address, operand);
  return device_atomic(op, s.type, address, operand);
}

Value* TaskLowering::device_atomic(llvm::AtomicRMWInst::BinOp op, Type type, Value* address, Value* operand) {
  llvm::AtomicRMWInst* atomic =
      b_.CreateAtomicRMW(op, address, operand, llvm::Align(size_of(type)), llvm::AtomicOrdering::Monotonic,
                         device_.device_scope(context_));
  device_.mark_atomic(*atomic);
  return atomic;
}

/// A loop around compare-and-swap, which stores nothing where nothing would change; gives the old value.
Value* TaskLowering::float_atomic(Type type, Value* address, const std::function<Value*(Value*)>& change) {
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  const auto scope = device_.device_scope(context_);
  const llvm::Align align(size_of(type));
  llvm::Type* real = register_type(context_, type);
  llvm::Type* bits = b_.getIntNTy(unsigned(8 * size_of(type)));
  llvm::LoadInst* first = b_.CreateAlignedLoad(bits, address, align);
  first->setAtomic(relaxed, scope);
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

/// An f32 addition of a device that takes numbers below the normal range for 0. It is right where the operand
/// is so large that neither the other number nor the result can matter and be that small: an operand of at
/// least 2^-101 has an ulp of 2^-124, so that what is not 0 is at least that, and half of it is more than any
/// subnormal number.
Value* TaskLowering::exact_add(Value* address, Value* operand) {
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

void TaskLowering::declare_local(const ir::Statement& s) {
  Local& local = locals_.at(s.index);
  if (!local.storage) {
    local.type = s.type;
    local.count = s.immediate;
    local.storage = stack_slot(memory_type(context_, s.type), s.immediate, "local");
    local.storage->setAlignment(llvm::Align(s.immediate > 1 ? 16 : size_of(s.type)));
    stack_bytes_ += s.immediate * size_of(s.type);
  }
  // Says that no iteration sees what another left, so that the storage can become registers.
  b_.CreateLifetimeStart(local.storage);
  if (s.immediate == 1)
    b_.CreateStore(llvm::Constant::getNullValue(memory_type(context_, s.type)), local.storage);
  else
    b_.CreateMemSet(local.storage, b_.getInt8(0), s.immediate * size_of(s.type), local.storage->getAlign());
}

Value* TaskLowering::local_address(const ir::Statement& s, bool indexed) {
  const Local& local = locals_.at(s.index);
  if (!local.storage)
    throw Error(ErrorCode::compile, "kernel '" + kernel_.name + "', task '" + task_.name + "': local " +
                                        std::to_string(s.index) + " is used before it is declared");
  if (!indexed) return local.storage;
  Value* index = value(s.operands.at(0));
  if (kernel_.options.check_bounds) check_index(s, {index}, {i64(local.count)});
  return b_.CreateInBoundsGEP(memory_type(context_, local.type), local.storage, index);
}

Value* TaskLowering::temporary_address(const ir::Statement& s, bool indexed) {
  if (!temporaries_)
    throw Error(ErrorCode::compile, "kernel '" + kernel_.name + "', task '" + task_.name +
                                        "': temporaries are used but are no task argument");
  Value* address = b_.CreateInBoundsGEP(b_.getInt8Ty(), temporaries_, i64(s.immediate));
  if (!indexed) return address;
  return b_.CreateInBoundsGEP(memory_type(context_, s.type), address, value(s.operands.at(0)));
}

}  // namespace weir::codegen
