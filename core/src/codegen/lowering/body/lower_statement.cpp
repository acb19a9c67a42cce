// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/arithmetic.hpp"
#include "codegen/lowering/body/atomics.hpp"
#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/threads/staged_loops.hpp"
#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using ir::Op;
using llvm::Value;

void BodyLowering::lower(const ir::Block& block) {
  for (const ir::Statement& s : block.statements) {
    if (f_.ended()) b_.SetInsertPoint(new_block("unreached"));
    const TaskFunction::LineScope line(f_, s);
    lower(s);
  }
}

void BodyLowering::lower(const ir::Statement& s) {
  switch (s.op) {
    case Op::store: {
      if (!it_.stores) return;
      Value* address = element_address(s, s.operands.size() - 1);
      store_scalar(s.type, it_.value(s.operands.back()), address, true, s.index);
      return;
    }
    case Op::local:
    case Op::shared:
      return declare_local(s);
    case Op::barrier:
      return lower_barrier(s);
    case Op::threads:
      return lower_threads(s);
    case Op::set:
      return store_local(s);
    case Op::scratch_store: {
      Value* address = scratch_address(s, s.operands.size() > 1);
      store_scalar(s.type, it_.value(s.operands.back()), address, false);
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
    case Op::print:
      return lower_print(s);
    case Op::break_:
      jump(it_.loops.at(it_.loops.size() - 1).break_to);
      return;
    case Op::continue_:
      jump(it_.loops.at(it_.loops.size() - 1).continue_to);
      return;
    case Op::yield:
      it_.yielded = it_.value(s.operands.at(0));
      return;
    case Op::parallel:
    case Op::reduce:
      f_.fail(
          "a loop that runs in parallel is inside another statement, expected at the end of the task; split "
          "the "
          "kernel into tasks first");
    default:
      break;
  }
  Value* result = lower_value(s);
  const ir::ResultRule rule = ir::info(s.op).result;
  Type type = s.type;
  if (rule == ir::ResultRule::boolean) type = Type::boolean;
  if (rule == ir::ResultRule::same) type = it_.type_of(s.operands.at(0));
  it_.define(s.result, type, result);
}

Value* BodyLowering::lower_value(const ir::Statement& s) {
  const auto operand = [&](std::size_t i) { return it_.value(s.operands.at(i)); };
  switch (s.op) {
    case Op::constant: {
      llvm::Type* type = register_type(context_, s.type);
      if (s.type == Type::boolean) return b_.getInt1(s.immediate != 0);
      const llvm::APInt bits(64, s.immediate);
      if (!is_float(s.type)) return llvm::ConstantInt::get(type, bits.trunc(type->getIntegerBitWidth()));
      return llvm::ConstantFP::get(
          type, llvm::APFloat(type->getFltSemantics(), bits.trunc(unsigned(8 * size_of(s.type)))));
    }
    case Op::argument:
      return f_.arguments.scalar(s.index, s.component);
    case Op::extent:
      return f_.arguments.extent(s.index, s.component);
    case Op::launch_key:
      return f_.arguments.launch_key();
    case Op::repetition:
      return f_.arguments.repetition(s.index);
    case Op::failed:
      return has_failed();
    case Op::neg:
    case Op::abs:
    case Op::bit_not:
    case Op::popcount:
    case Op::clz:
    case Op::ctz:
      return Arithmetic(f_).lower_unary(s.op, it_.type_of(s.operands.at(0)), operand(0));
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return Arithmetic(f_).lower_compare(s.op, it_.type_of(s.operands.at(0)), operand(0), operand(1));
    case Op::select:
      return b_.CreateSelect(operand(0), operand(1), operand(2));
    case Op::cast:
      return Arithmetic(f_).lower_cast(it_.type_of(s.operands.at(0)), s.type, operand(0));
    case Op::bitcast:
      return b_.CreateBitCast(operand(0), register_type(context_, s.type));
    case Op::math:
      return lower_math(s);
    case Op::philox:
      return Arithmetic(f_).lower_philox({operand(0), operand(1)},
                                         {operand(2), operand(3), operand(4), operand(5)}, s.component);
    case Op::load:
      if (Value* staged = staged_ ? staged_->address(s) : nullptr) return load_scalar(s.type, staged, true);
      return load_scalar(s.type, element_address(s, s.operands.size()), true, s.index);
    case Op::atomic:
    case Op::shared_atomic:
      return lower_atomic(s);
    case Op::shuffle:
      return lower_shuffle(s);
    case Op::ballot:
      return lower_ballot(s);
    case Op::get:
      return load_local(s);
    case Op::scratch_load:
      return load_scalar(s.type, scratch_address(s, !s.operands.empty()), false);
    default:
      return Arithmetic(f_).lower_binary(s.op, it_.type_of(s.operands.at(0)), operand(0), operand(1));
  }
}

Value* BodyLowering::lower_math(const ir::Statement& s) {
  std::vector<Value*> arguments;
  for (const ir::ValueId id : s.operands) arguments.push_back(it_.value(id));
  return Arithmetic(f_).lower_math(static_cast<ir::MathFunction>(s.index), it_.type_of(s.operands.at(0)),
                                   s.type, arguments);
}

Value* BodyLowering::lower_atomic(const ir::Statement& s) {
  if (llvm::AllocaInst* sum = it_.sum(s)) return Atomics(f_).register_add(sum, it_.value(s.operands.back()));
  const auto kind = static_cast<ir::AtomicKind>(s.immediate);
  const bool exchange = kind == ir::AtomicKind::compare_exchange;
  const std::size_t indices = s.operands.size() - (exchange ? 2 : 1);
  Value* address = s.op == Op::shared_atomic ? local_address(s, indices > 0) : element_address(s, indices);
  Value* operand = it_.value(s.operands.back());
  if (s.op == Op::atomic && it_.is_private(s.index)) return Atomics(f_).private_add(s.type, address, operand);
  Value* expected = exchange ? it_.value(s.operands[s.operands.size() - 2]) : nullptr;
  return Atomics(f_).lower(kind, s.type, address, operand, expected);
}

void BodyLowering::update_element(const ir::Statement& s, Value* operand) {
  Value* address = element_address(s, s.operands.size() - 1);
  Atomics(f_).lower(static_cast<ir::AtomicKind>(s.immediate), s.type, address, operand, nullptr);
}

}  // namespace weir::codegen
