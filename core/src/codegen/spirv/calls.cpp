// SPDX-License-Identifier: Apache-2.0
// Calls: functions of the module, the threads' functions, intrinsics with an instruction of their own.
#include "codegen/spirv/function_translation.hpp"

namespace weir::codegen::spirv {
void FunctionTranslation::call(const llvm::CallInst& i) {
  if (const auto* known = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) return intrinsic(*known);
  const llvm::Function* callee = i.getCalledFunction();
  if (!callee) refuse("a call is to an unknown function");
  if (is_declared_function(*callee)) {
    if (!call_declared(i, callee->getName()))
      refuse("function '" + callee->getName().str() + "' has no body");
    return;
  }
  Words words{module_.function(callee)};
  for (const llvm::Use& argument : i.args()) words.push_back(value(argument));
  add_as(i, Op::FunctionCall, words);
}

bool FunctionTranslation::call_declared(const llvm::CallInst& i, std::string_view name) {
  if (name == thread_function)
    read_built_in(i, BuiltIn::LocalInvocationId);
  else if (name == block_function)
    read_built_in(i, BuiltIn::WorkgroupId);
  else if (name == grid_function)
    read_built_in(i, BuiltIn::NumWorkgroups);
  else if (name == barrier_function)
    barrier(scope::block);
  else if (name == lanes_barrier_function)
    barrier(scope::lanes);
  else if (name == shuffle_function) {
    b_.need(Capability::GroupNonUniform);
    b_.need(Capability::GroupNonUniformShuffle);
    add_as(i, Op::GroupNonUniformShuffle,
           {number(32, scope::lanes), value(i.getArgOperand(0)), value(i.getArgOperand(1))});
  } else if (name == ballot_function) {
    ballot(i);
  } else if (name == inverse_sqrt_function) {
    extended(i, Extended::InverseSqrt, {value(i.getArgOperand(0))});
  } else {
    return false;
  }
  return true;
}

void FunctionTranslation::ballot(const llvm::CallInst& i) {
  b_.need(Capability::GroupNonUniform);
  b_.need(Capability::GroupNonUniformBallot);
  const Id bits = add(Op::GroupNonUniformBallot, b_.vector_type(b_.integer_type(32), 4),
                      {number(32, scope::lanes), value(i.getArgOperand(0))});
  if (const auto* word = llvm::dyn_cast<llvm::ConstantInt>(i.getArgOperand(1)))
    add_as(i, Op::CompositeExtract, {bits, std::uint32_t(word->getZExtValue())});
  else
    add_as(i, Op::VectorExtractDynamic, {bits, value(i.getArgOperand(1))});
}

void FunctionTranslation::read_built_in(const llvm::CallInst& i, BuiltIn what) {
  const Id word = b_.integer_type(32);
  const Id all = add(Op::Load, b_.vector_type(word, 3), {b_.built_in(what)});
  add_as(i, Op::CompositeExtract, {all, 0});
}

void FunctionTranslation::barrier(std::uint32_t within) {
  put(code_, Op::ControlBarrier,
      {number(32, within), number(32, within),
       number(32, semantics::acquire_release | semantics::block_memory | semantics::arrays)});
}

void FunctionTranslation::extended(const llvm::Value& defined, Extended what, const Words& operands) {
  Words words{b_.extended_set(), std::uint32_t(what)};
  words.insert(words.end(), operands.begin(), operands.end());
  add_as(defined, Op::ExtInst, words);
}

/// A value whose bits are unknown to the device's compiler: the bits of the operand and of a number that is
/// 0, because a grid has less than 2^31 blocks.
void FunctionTranslation::hidden(const llvm::IntrinsicInst& i) {
  const Id word = b_.integer_type(32);
  const unsigned width = unsigned(i.getType()->getPrimitiveSizeInBits());
  const Id blocks = add(Op::Load, b_.vector_type(word, 3), {b_.built_in(BuiltIn::NumWorkgroups)});
  Id zero = add(Op::ShiftRightLogical, word, {add(Op::CompositeExtract, word, {blocks, 0}), number(32, 31)});
  const Id bits = b_.integer_type(width);
  if (width != 32) zero = add(Op::UConvert, bits, {zero});
  const Id known = add(Op::Bitcast, bits, {value(i.getArgOperand(0))});
  add_as(i, Op::Bitcast, {add(Op::BitwiseOr, bits, {known, zero})});
}

void FunctionTranslation::intrinsic(const llvm::IntrinsicInst& i) {
  const auto operand = [&](unsigned k) { return value(i.getArgOperand(k)); };
  const Id word = b_.integer_type(32);
  const auto bit_number = [&](Extended what) {
    return add(Op::ExtInst, word, {b_.extended_set(), std::uint32_t(what), operand(0)});
  };
  switch (i.getIntrinsicID()) {
    case llvm::Intrinsic::arithmetic_fence:
      return hidden(i);
    case llvm::Intrinsic::fabs:
      return extended(i, Extended::FAbs, {operand(0)});
    case llvm::Intrinsic::floor:
      return extended(i, Extended::Floor, {operand(0)});
    case llvm::Intrinsic::ceil:
      return extended(i, Extended::Ceil, {operand(0)});
    case llvm::Intrinsic::trunc:
      return extended(i, Extended::Trunc, {operand(0)});
    case llvm::Intrinsic::roundeven:
      return extended(i, Extended::RoundEven, {operand(0)});
    case llvm::Intrinsic::sqrt:
      return extended(i, Extended::Sqrt, {operand(0)});
    case llvm::Intrinsic::fma:
      extended(i, Extended::Fma, {operand(0), operand(1), operand(2)});
      return keep_exact(i);
    case llvm::Intrinsic::ctpop:
      return add_as(i, Op::BitCount, {operand(0)});
    case llvm::Intrinsic::bitreverse:
      return add_as(i, Op::BitReverse, {operand(0)});
    case llvm::Intrinsic::ctlz:  // FindUMsb(0) is -1
      return add_as(i, Op::ISub, {number(32, 31), bit_number(Extended::FindUMsb)});
    case llvm::Intrinsic::cttz: {
      const Id none = add(Op::IEqual, b_.bool_type(), {operand(0), number(32, 0)});
      return add_as(i, Op::Select, {none, number(32, 32), bit_number(Extended::FindILsb)});
    }
    default:
      refuse("intrinsic '" + i.getCalledFunction()->getName().str() + "' has no translation");
  }
}

}  // namespace weir::codegen::spirv
