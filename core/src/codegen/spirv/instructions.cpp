// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons and conversions.
#include "codegen/spirv/function_translation.hpp"

#include <llvm/IR/Operator.h>

namespace weir::codegen::spirv {
namespace {

bool is_boolean(const llvm::Value* v) {
  return v->getType()->isIntegerTy(1);
}

/// The number of a vector's component. Vectors are made by VectorAccesses, whose indices are constants.
std::uint32_t component(const llvm::Value* index) {
  return std::uint32_t(llvm::cast<llvm::ConstantInt>(index)->getZExtValue());
}

Op op_of(llvm::Instruction::BinaryOps op) {
  switch (op) {
    case llvm::Instruction::Add:
      return Op::IAdd;
    case llvm::Instruction::FAdd:
      return Op::FAdd;
    case llvm::Instruction::Sub:
      return Op::ISub;
    case llvm::Instruction::FSub:
      return Op::FSub;
    case llvm::Instruction::Mul:
      return Op::IMul;
    case llvm::Instruction::FMul:
      return Op::FMul;
    case llvm::Instruction::UDiv:
      return Op::UDiv;
    case llvm::Instruction::SDiv:
      return Op::SDiv;
    case llvm::Instruction::FDiv:
      return Op::FDiv;
    case llvm::Instruction::URem:
      return Op::UMod;
    case llvm::Instruction::Shl:
      return Op::ShiftLeftLogical;
    case llvm::Instruction::LShr:
      return Op::ShiftRightLogical;
    case llvm::Instruction::AShr:
      return Op::ShiftRightArithmetic;
    case llvm::Instruction::And:
      return Op::BitwiseAnd;
    case llvm::Instruction::Or:
      return Op::BitwiseOr;
    case llvm::Instruction::Xor:
      return Op::BitwiseXor;
    default:
      refuse("a remainder of floats has no translation");
  }
}

Op op_of(llvm::CmpInst::Predicate predicate) {
  using P = llvm::CmpInst;
  switch (predicate) {
    case P::ICMP_EQ:
      return Op::IEqual;
    case P::ICMP_NE:
      return Op::INotEqual;
    case P::ICMP_UGT:
      return Op::UGreaterThan;
    case P::ICMP_UGE:
      return Op::UGreaterThanEqual;
    case P::ICMP_ULT:
      return Op::ULessThan;
    case P::ICMP_ULE:
      return Op::ULessThanEqual;
    case P::ICMP_SGT:
      return Op::SGreaterThan;
    case P::ICMP_SGE:
      return Op::SGreaterThanEqual;
    case P::ICMP_SLT:
      return Op::SLessThan;
    case P::ICMP_SLE:
      return Op::SLessThanEqual;
    case P::FCMP_OEQ:
      return Op::FOrdEqual;
    case P::FCMP_OGT:
      return Op::FOrdGreaterThan;
    case P::FCMP_OGE:
      return Op::FOrdGreaterThanEqual;
    case P::FCMP_OLT:
      return Op::FOrdLessThan;
    case P::FCMP_OLE:
      return Op::FOrdLessThanEqual;
    case P::FCMP_ONE:
      return Op::FOrdNotEqual;
    case P::FCMP_UEQ:
      return Op::FUnordEqual;
    case P::FCMP_UGT:
      return Op::FUnordGreaterThan;
    case P::FCMP_UGE:
      return Op::FUnordGreaterThanEqual;
    case P::FCMP_ULT:
      return Op::FUnordLessThan;
    case P::FCMP_ULE:
      return Op::FUnordLessThanEqual;
    default:
      return Op::FUnordNotEqual;
  }
}

}  // namespace

void FunctionTranslation::translate(const llvm::Instruction& i) {
  if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&i)) return binary(*operation);
  if (const auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(&i)) return compare(*comparison);
  if (const auto* comparison = llvm::dyn_cast<llvm::FCmpInst>(&i)) return compare(*comparison);
  if (const auto* conversion = llvm::dyn_cast<llvm::CastInst>(&i)) return cast(*conversion);
  if (const auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(&i)) return address(*element);
  if (const auto* read = llvm::dyn_cast<llvm::LoadInst>(&i)) return load(*read);
  if (const auto* write = llvm::dyn_cast<llvm::StoreInst>(&i)) return store(*write);
  if (const auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) return atomic(*change);
  if (const auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) return exchange(*swap);
  if (const auto* called = llvm::dyn_cast<llvm::CallInst>(&i)) return call(*called);
  if (llvm::isa<llvm::AllocaInst>(i)) return;
  switch (i.getOpcode()) {
    case llvm::Instruction::FNeg:
      return add_as(i, Op::FNegate, {value(i.getOperand(0))});
    case llvm::Instruction::Select:
      return add_as(i, Op::Select, {value(i.getOperand(0)), value(i.getOperand(1)), value(i.getOperand(2))});
    case llvm::Instruction::ExtractElement:
      return add_as(i, Op::CompositeExtract, {value(i.getOperand(0)), component(i.getOperand(1))});
    case llvm::Instruction::InsertElement:
      return add_as(i, Op::CompositeInsert,
                    {value(i.getOperand(1)), value(i.getOperand(0)), component(i.getOperand(2))});
    case llvm::Instruction::ExtractValue: {
      const auto& part = llvm::cast<llvm::ExtractValueInst>(i);
      Words words{value(part.getAggregateOperand())};
      words.insert(words.end(), part.idx_begin(), part.idx_end());
      return add_as(i, Op::CompositeExtract, words);
    }
    case llvm::Instruction::InsertValue: {
      const auto& part = llvm::cast<llvm::InsertValueInst>(i);
      Words words{value(part.getInsertedValueOperand()), value(part.getAggregateOperand())};
      words.insert(words.end(), part.idx_begin(), part.idx_end());
      return add_as(i, Op::CompositeInsert, words);
    }
    default:
      refuse(std::string("instruction '") + i.getOpcodeName() + "' has no translation");
  }
}

/// Forbids the device's compiler to contract or reorder, except where the kernel allows it.
void FunctionTranslation::keep_exact(const llvm::Instruction& i) {
  if (llvm::isa<llvm::FPMathOperator>(i) && !i.hasAllowContract())
    b_.decorate(define(&i), Decoration::NoContraction);
}

void FunctionTranslation::binary(const llvm::BinaryOperator& i) {
  if (is_boolean(&i)) return logical(i);
  if (i.getOpcode() == llvm::Instruction::SRem) return remainder(i);
  add_as(i, op_of(i.getOpcode()), {value(i.getOperand(0)), value(i.getOperand(1))});
  if (i.getType()->isFloatingPointTy()) keep_exact(i);
}

void FunctionTranslation::logical(const llvm::BinaryOperator& i) {
  const Words operands{value(i.getOperand(0)), value(i.getOperand(1))};
  switch (i.getOpcode()) {
    case llvm::Instruction::And:
    case llvm::Instruction::Mul:
      return add_as(i, Op::LogicalAnd, operands);
    case llvm::Instruction::Or:
      return add_as(i, Op::LogicalOr, operands);
    case llvm::Instruction::Xor:
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
      return add_as(i, Op::LogicalNotEqual, operands);
    default:
      refuse(std::string("'") + i.getOpcodeName() + "' of booleans has no translation");
  }
}

/// From the quotient: in Vulkan, OpSRem of a negative operand is undefined.
void FunctionTranslation::remainder(const llvm::BinaryOperator& i) {
  const Id type = module_.type(i.getType()), x = value(i.getOperand(0)), y = value(i.getOperand(1));
  const Id quotient = add(Op::SDiv, type, {x, y});
  add_as(i, Op::ISub, {x, add(Op::IMul, type, {quotient, y})});
}

void FunctionTranslation::compare(const llvm::ICmpInst& i) {
  if (is_boolean(i.getOperand(0))) return compare_booleans(i);
  add_as(i, op_of(i.getPredicate()), {value(i.getOperand(0)), value(i.getOperand(1))});
}

void FunctionTranslation::compare_booleans(const llvm::ICmpInst& i) {
  const Id type = b_.bool_type();
  Id x = value(i.getOperand(0)), y = value(i.getOperand(1));
  llvm::CmpInst::Predicate predicate = i.getPredicate();
  if (predicate == llvm::CmpInst::ICMP_EQ) return add_as(i, Op::LogicalEqual, {x, y});
  if (predicate == llvm::CmpInst::ICMP_NE) return add_as(i, Op::LogicalNotEqual, {x, y});
  // As a signed number, true is -1.
  if (i.isSigned()) std::swap(x, y), predicate = llvm::ICmpInst::getUnsignedPredicate(predicate);
  if (predicate == llvm::CmpInst::ICMP_UGT || predicate == llvm::CmpInst::ICMP_UGE)
    std::swap(x, y), predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  const Op op = predicate == llvm::CmpInst::ICMP_ULT ? Op::LogicalAnd : Op::LogicalOr;
  add_as(i, op, {add(Op::LogicalNot, type, {x}), y});
}

void FunctionTranslation::compare(const llvm::FCmpInst& i) {
  const Id type = b_.bool_type();
  const Id x = value(i.getOperand(0)), y = value(i.getOperand(1));
  switch (i.getPredicate()) {
    case llvm::CmpInst::FCMP_FALSE:
    case llvm::CmpInst::FCMP_TRUE:
      return add_as(i, Op::CopyObject, {b_.boolean(i.getPredicate() == llvm::CmpInst::FCMP_TRUE)});
    // OpOrdered and OpUnordered are for kernels of OpenCL only.
    case llvm::CmpInst::FCMP_ORD:
      return add_as(i, Op::LogicalAnd, {add(Op::FOrdEqual, type, {x, x}), add(Op::FOrdEqual, type, {y, y})});
    case llvm::CmpInst::FCMP_UNO:
      return add_as(i, Op::LogicalOr,
                    {add(Op::FUnordNotEqual, type, {x, x}), add(Op::FUnordNotEqual, type, {y, y})});
    default:
      return add_as(i, op_of(i.getPredicate()), {x, y});
  }
}

void FunctionTranslation::cast(const llvm::CastInst& i) {
  const llvm::Value* from = i.getOperand(0);
  const Id x = value(from);
  const auto chosen = [&](std::uint64_t when_true) {
    const unsigned bits = i.getType()->getIntegerBitWidth();
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    add_as(i, Op::Select, {x, number(bits, when_true & mask), number(bits, 0)});
  };
  switch (i.getOpcode()) {
    case llvm::Instruction::Trunc:
      if (!is_boolean(&i)) return add_as(i, Op::UConvert, {x});
      return add_as(i, Op::INotEqual,
                    {add(Op::BitwiseAnd, module_.type(from->getType()),
                         {x, number(from->getType()->getIntegerBitWidth(), 1)}),
                     number(from->getType()->getIntegerBitWidth(), 0)});
    case llvm::Instruction::ZExt:
      return is_boolean(from) ? chosen(1) : add_as(i, Op::UConvert, {x});
    case llvm::Instruction::SExt:
      return is_boolean(from) ? chosen(~std::uint64_t{0}) : add_as(i, Op::SConvert, {x});
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::FPExt:
      return add_as(i, Op::FConvert, {x});
    case llvm::Instruction::FPToSI:
      return add_as(i, Op::ConvertFToS, {x});
    case llvm::Instruction::FPToUI:
      return add_as(i, Op::ConvertFToU, {x});
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP: {
      const bool with_sign = i.getOpcode() == llvm::Instruction::SIToFP;
      if (!is_boolean(from)) return add_as(i, with_sign ? Op::ConvertSToF : Op::ConvertUToF, {x});
      const Id whole = add(Op::Select, b_.integer_type(32),
                           {x, number(32, with_sign ? ~std::uint32_t{0} : 1), number(32, 0)});
      return add_as(i, Op::ConvertSToF, {whole});
    }
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::PtrToAddr:
      return add_as(i, Op::CopyObject, {x});
    case llvm::Instruction::BitCast:
      return add_as(
          i, module_.type(from->getType()) == module_.type(i.getType()) ? Op::CopyObject : Op::Bitcast, {x});
    default:
      refuse(std::string("conversion '") + i.getOpcodeName() + "' has no translation");
  }
}

}  // namespace weir::codegen::spirv
