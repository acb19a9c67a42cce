// SPDX-License-Identifier: Apache-2.0
// One statement after another: what each operation turns into is in lower_arithmetic, lower_memory and
// lower_control.
#include <weir/error.hpp>

#include "codegen/lowering.hpp"
#include "ir/error_record.hpp"

namespace weir::codegen {

using ir::Op;
using llvm::Value;

llvm::Type* register_type(llvm::LLVMContext& context, ScalarType type) {
  return type == ScalarType::boolean ? llvm::Type::getInt1Ty(context) : memory_type(context, type);
}

llvm::Type* memory_type(llvm::LLVMContext& context, ScalarType type) {
  switch (type) {
    case ScalarType::f16:
      return llvm::Type::getHalfTy(context);
    case ScalarType::f32:
      return llvm::Type::getFloatTy(context);
    case ScalarType::f64:
      return llvm::Type::getDoubleTy(context);
    default:
      return llvm::Type::getIntNTy(context, unsigned(8 * size_of(type)));
  }
}

Value* TaskLowering::value(ir::ValueId id) const {
  if (id >= values_.size() || !values_[id])
    throw Error(ErrorCode::compile, "kernel '" + kernel_.name + "', task '" + task_.name + "': value " +
                                        std::to_string(id) +
                                        " is used before it is defined; verify the kernel first");
  return values_[id];
}

void TaskLowering::define(const ir::Statement& s, Type type, Value* v) {
  if (s.result == ir::no_value) return;
  values_.at(s.result) = v;
  types_[s.result] = type;
}

llvm::BasicBlock* TaskLowering::new_block(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

llvm::AllocaInst* TaskLowering::stack_slot(llvm::Type* type, std::uint64_t count, const char* name) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  Builder at(&entry, entry.begin());
  return at.CreateAlloca(count == 1 ? type : llvm::ArrayType::get(type, count), nullptr, name);
}

Value* TaskLowering::extent(std::uint32_t parameter, std::uint32_t dimension) const {
  const auto found = extents_.find({parameter, dimension});
  if (found != extents_.end()) return found->second;
  throw Error(ErrorCode::compile, "kernel '" + kernel_.name + "', task '" + task_.name + "': extent " +
                                      std::to_string(dimension) + " of array '" +
                                      kernel_.parameters.at(parameter).name +
                                      "' is used but is no task argument");
}

void TaskLowering::jump(llvm::BasicBlock* to) {
  if (!ended()) b_.CreateBr(to);
}

void TaskLowering::number_sites(const ir::Block& block) {
  for (const ir::Statement& s : block.statements) {
    if (ir::can_fail(s)) sites_.emplace(&s, std::uint32_t(sites_.size()));
    for (const ir::Block& body : s.bodies) number_sites(body);
  }
}

std::uint32_t TaskLowering::site(const ir::Statement& s) const {
  return sites_.at(&s);
}

void TaskLowering::lower_block(const ir::Block& block) {
  for (const ir::Statement& s : block.statements) {
    if (ended()) b_.SetInsertPoint(new_block("unreached"));
    const llvm::DebugLoc outer = b_.getCurrentDebugLocation();
    if (lines_)
      if (const llvm::DebugLoc own = lines_->at(s.location)) b_.SetCurrentDebugLocation(own);
    lower(s);
    b_.SetCurrentDebugLocation(outer);
  }
}

void TaskLowering::lower(const ir::Statement& s) {
  switch (s.op) {
    case Op::store: {
      Value* address = element_address(s, s.operands.size() - 1);
      store_scalar(s.type, value(s.operands.back()), address, true);
      return;
    }
    case Op::local:
      return declare_local(s);
    case Op::set: {
      Value* address = local_address(s, s.operands.size() > 1);
      store_scalar(locals_.at(s.index).type, value(s.operands.back()), address, false);
      return;
    }
    case Op::temp_store: {
      Value* address = temporary_address(s, s.operands.size() > 1);
      store_scalar(s.type, value(s.operands.back()), address, false);
      return;
    }
    case Op::if_:
      return lower_if(s);
    case Op::while_:
      return lower_while(s);
    case Op::for_:
      return lower_for(s);
    case Op::assert_:
      return lower_assert(s);
    case Op::break_:
      jump(loops_.at(loops_.size() - 1).break_to);
      return;
    case Op::continue_:
      jump(loops_.at(loops_.size() - 1).continue_to);
      return;
    case Op::yield:
      yielded_ = value(s.operands.at(0));
      return;
    case Op::parallel:
      return lower_parallel(s);
    case Op::reduce:
      return lower_reduce_partial(s);
    default:
      break;
  }
  Value* result = lower_value(s);
  const ir::ResultRule rule = ir::info(s.op).result;
  Type type = s.type;
  if (rule == ir::ResultRule::boolean) type = Type::boolean;
  if (rule == ir::ResultRule::same) type = type_of(s.operands.at(0));
  define(s, type, result);
}

Value* TaskLowering::lower_value(const ir::Statement& s) {
  const auto operand = [&](std::size_t i) { return value(s.operands.at(i)); };
  switch (s.op) {
    case Op::constant: {
      llvm::Type* type = register_type(context_, s.type);
      if (s.type == Type::boolean) return b_.getInt1(s.immediate != 0);
      const llvm::APInt bits(64, s.immediate);
      if (!is_float(s.type)) return llvm::ConstantInt::get(type, bits.trunc(type->getIntegerBitWidth()));
      return llvm::ConstantFP::get(
          type, llvm::APFloat(type->getFltSemantics(), bits.trunc(unsigned(8 * size_of(s.type)))));
    }
    case Op::argument: {
      const auto found = scalars_.find({s.index, s.lane});
      if (found != scalars_.end()) return found->second;
      throw Error(ErrorCode::compile,
                  "kernel '" + kernel_.name + "', task '" + task_.name + "': lane " + std::to_string(s.lane) +
                      " of '" + kernel_.parameters.at(s.index).name + "' is used but is no task argument");
    }
    case Op::extent:
      return extent(s.index, s.lane);
    case Op::launch_key:
      if (!launch_key_)
        throw Error(ErrorCode::compile, "kernel '" + kernel_.name + "', task '" + task_.name +
                                            "': the launch key is used but is no task argument");
      return launch_key_;
    case Op::neg:
    case Op::abs:
    case Op::bit_not:
    case Op::popcount:
    case Op::clz:
    case Op::ctz:
      return lower_unary(s.op, type_of(s.operands.at(0)), operand(0));
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return lower_compare(s.op, type_of(s.operands.at(0)), operand(0), operand(1));
    case Op::select:
      return b_.CreateSelect(operand(0), operand(1), operand(2));
    case Op::cast:
      return lower_cast(type_of(s.operands.at(0)), s.type, operand(0));
    case Op::bitcast:
      return b_.CreateBitCast(operand(0), register_type(context_, s.type));
    case Op::math:
      return lower_math(s);
    case Op::philox:
      return lower_philox(s);
    case Op::load:
      if (Value* staged = staged_address(s)) return load_scalar(s.type, staged, true);
      return load_scalar(s.type, element_address(s, s.operands.size()), true);
    case Op::atomic:
      return lower_atomic(s);
    case Op::get:
      return load_scalar(locals_.at(s.index).type, local_address(s, !s.operands.empty()), false);
    case Op::temp_load:
      return load_scalar(s.type, temporary_address(s, !s.operands.empty()), false);
    default:
      return lower_binary(s.op, type_of(s.operands.at(0)), operand(0), operand(1));
  }
}

}  // namespace weir::codegen
