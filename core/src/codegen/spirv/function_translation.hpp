// SPDX-License-Identifier: Apache-2.0
// One function of LLVM IR as one function of SPIR-V.
#pragma once

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <vector>

#include "codegen/spirv/module_translation.hpp"
#include "codegen/spirv/structure.hpp"

namespace weir::codegen::spirv {

inline constexpr std::uint32_t aligned = 2;  // of memory operands

class FunctionTranslation {
 public:
  FunctionTranslation(ModuleTranslation& module, llvm::Function& function);
  void run();

 private:
  // function_translation.cpp
  void begin();
  void begin_block(const llvm::BasicBlock& block);
  void read_arguments();
  void choose_arguments(const std::vector<ArgumentField>& fields);
  Id push_constant(Id block, Id type, std::uint32_t number);
  Id stored_argument(Id base, const ArgumentField& field);
  void declare_locals();
  void translate(const llvm::BasicBlock& block);
  void translate(const llvm::PHINode& phi);
  void end_block(const llvm::BasicBlock& block);
  void branch(const llvm::BranchInst& branch);
  Id label(const llvm::BasicBlock* block);
  Id value(const llvm::Value* value);
  Id define(const llvm::Value* value) { return this->value(value); }
  /// Appends an instruction with a result.
  Id add(Op op, Id type, const Words& operands);
  void add_as(const llvm::Value& defined, Op op, const Words& operands);
  Id number(unsigned bits, std::uint64_t v) { return b_.integer(bits, v); }

  // instructions.cpp
  void translate(const llvm::Instruction& i);
  void binary(const llvm::BinaryOperator& i);
  void logical(const llvm::BinaryOperator& i);
  void remainder(const llvm::BinaryOperator& i);
  void compare(const llvm::ICmpInst& i);
  void compare_booleans(const llvm::ICmpInst& i);
  void compare(const llvm::FCmpInst& i);
  void cast(const llvm::CastInst& i);
  void keep_exact(const llvm::Instruction& i);

  // memory.cpp
  void address(const llvm::GetElementPtrInst& i);
  void load(const llvm::LoadInst& i);
  void store(const llvm::StoreInst& i);
  void atomic(const llvm::AtomicRMWInst& i);
  void exchange(const llvm::AtomicCmpXchgInst& i);
  Id device_pointer(Id address, Id type);
  Id element(Region& region, Id offset, std::uint64_t index);
  void load(Region& region, const llvm::LoadInst& i);
  void store(Region& region, const llvm::StoreInst& i);
  Id load_number(Region& region, Id offset, unsigned bits, unsigned place);
  void store_number(Region& region, Id offset, Id stored, unsigned bits, unsigned place);
  Id atomic_pointer(const llvm::Value* pointer, unsigned bits);
  Id bits_type(const llvm::Type* type);
  Id to_bits(const llvm::Value* value);
  void from_bits(const llvm::Value& defined, Id bits);

  // calls.cpp
  void call(const llvm::CallInst& i);
  bool call_declared(const llvm::CallInst& i, std::string_view name);
  void intrinsic(const llvm::IntrinsicInst& i);
  void extended(const llvm::Value& defined, Extended what, const Words& operands);
  void hidden(const llvm::IntrinsicInst& i);
  void read_built_in(const llvm::CallInst& i, BuiltIn what);
  void ballot(const llvm::CallInst& i);
  void barrier(std::uint32_t scope);

  ModuleTranslation& module_;
  ModuleBuilder& b_;
  llvm::Function& function_;
  const bool entry_;
  Structure structure_;
  Words& code_;
  std::map<const llvm::Value*, Id> ids_;
  std::map<const llvm::BasicBlock*, Id> labels_;
  std::map<const Region*, Id> locals_;
  Words missing_merges_;
};

}  // namespace weir::codegen::spirv
