// SPDX-License-Identifier: Apache-2.0
#include "codegen/spirv/function_translation.hpp"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/InstIterator.h>

#include <weir/sdk/vulkan_launch.hpp>

namespace weir::codegen::spirv {

namespace convention = sdk::vulkan_launch;

FunctionTranslation::FunctionTranslation(ModuleTranslation& module, llvm::Function& function)
    : module_(module),
      b_(module.builder),
      function_(function),
      entry_(!function.hasLocalLinkage()),
      structure_(structure(function)),
      code_(module.builder.code()) {}

void FunctionTranslation::run() {
  begin();
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
  for (const llvm::BasicBlock* block : order) {
    begin_block(*block);
    translate(*block);
  }
  for (const Id merge : missing_merges_) {
    put(code_, Op::Label, {merge});
    put(code_, Op::Unreachable, {});
  }
  put(code_, Op::FunctionEnd, {});
}

void FunctionTranslation::begin() {
  Words parameters;
  if (!entry_)
    for (const llvm::Argument& argument : function_.args())
      parameters.push_back(module_.type(argument.getType()));
  const Id result = module_.type(function_.getReturnType());
  put(code_, Op::Function, {result, module_.function(&function_), 0, b_.function_type(result, parameters)});
  if (!entry_)
    for (const llvm::Argument& argument : function_.args())
      put(code_, Op::FunctionParameter, {module_.type(argument.getType()), define(&argument)});
}

void FunctionTranslation::begin_block(const llvm::BasicBlock& block) {
  const bool is_first = &block == &function_.getEntryBlock();
  if (is_first && entry_) return read_arguments();
  put(code_, Op::Label, {label(&block)});
  if (is_first) declare_locals();
}

/// The parameters of an entry are the fields of its argument block, in their natural layout. Those that fit
/// are declared as push constants too.
void FunctionTranslation::read_arguments() {
  std::vector<ArgumentField> fields;
  std::uint32_t end = 0;
  bool in_words = module_.pushes_arguments();  // others than words need features of the device
  for (const llvm::Argument& argument : function_.args()) {
    const std::uint32_t size = memory_bits(argument.getType()) / 8;
    const std::uint32_t offset = (end + size - 1) / size * size;
    fields.push_back({&argument, offset, size});
    end = offset + size;
    in_words &= size >= 4;
  }
  if (in_words && !fields.empty() && convention::pushed_arguments_at + end <= convention::max_push_bytes)
    return choose_arguments(fields);
  put(code_, Op::Label, {label(&function_.getEntryBlock())});
  declare_locals();
  const Id block = module_.push_constants(function_, {});
  const Id address = b_.integer_type(64);
  const Id base = add(Op::Load, address, {push_constant(block, address, 0)});
  for (const ArgumentField& field : fields)
    if (!field.argument->use_empty()) ids_[field.argument] = stored_argument(base, field);
}

/// Takes the arguments from the push constants or from the argument block, as a specialisation constant says.
/// The block of LLVM IR begins where both ways meet.
void FunctionTranslation::choose_arguments(const std::vector<ArgumentField>& fields) {
  const Id begin = b_.new_id(), pushed = b_.new_id(), stored = b_.new_id();
  const Id met = label(&function_.getEntryBlock());
  const Id block = module_.push_constants(function_, fields), address = b_.integer_type(64);
  put(code_, Op::Label, {begin});
  declare_locals();
  put(code_, Op::SelectionMerge, {met, 0});
  put(code_, Op::BranchConditional, {b_.specialised_flag(convention::arguments_are_pushed), pushed, stored});
  std::vector<Id> from_push, from_block;
  put(code_, Op::Label, {pushed});
  for (std::uint32_t k = 0; k < fields.size(); ++k) {
    const Id type = module_.type(fields[k].argument->getType());
    from_push.push_back(add(Op::Load, type, {push_constant(block, type, k + 1)}));
  }
  put(code_, Op::Branch, {met});
  put(code_, Op::Label, {stored});
  const Id base = add(Op::Load, address, {push_constant(block, address, 0)});
  for (const ArgumentField& field : fields) from_block.push_back(stored_argument(base, field));
  put(code_, Op::Branch, {met});
  put(code_, Op::Label, {met});
  for (std::size_t k = 0; k < fields.size(); ++k)
    add_as(*fields[k].argument, Op::Phi, {from_push[k], pushed, from_block[k], stored});
}

/// A pointer to member `number` of the push constants.
Id FunctionTranslation::push_constant(Id block, Id type, std::uint32_t number) {
  return add(Op::AccessChain, b_.pointer_type(StorageClass::PushConstant, type),
             {block, this->number(32, number)});
}

Id FunctionTranslation::stored_argument(Id base, const ArgumentField& field) {
  const Id type = module_.type(field.argument->getType());
  const Id at = add(Op::IAdd, b_.integer_type(64), {base, number(64, field.offset)});
  return add(Op::Load, type, {device_pointer(at, type), aligned, field.size});
}

void FunctionTranslation::declare_locals() {
  for (const llvm::Instruction& i : llvm::instructions(function_)) {
    const auto* local = llvm::dyn_cast<llvm::AllocaInst>(&i);
    if (!local) continue;
    for (Region& region : module_.regions.all()) {
      if (!llvm::is_contained(region.objects, local) || locals_.contains(&region)) continue;
      const Id array = b_.array_type(module_.element_type(region), region.elements());
      const Id pointer = b_.pointer_type(StorageClass::Function, array);
      locals_[&region] = add(Op::Variable, pointer, {std::uint32_t(StorageClass::Function)});
    }
  }
}

Id FunctionTranslation::label(const llvm::BasicBlock* block) {
  Id& id = labels_[block];
  if (id == 0) id = b_.new_id();
  return id;
}

Id FunctionTranslation::value(const llvm::Value* value) {
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) return module_.constant(constant);
  if (const auto* local = llvm::dyn_cast<llvm::AllocaInst>(value))
    return number(64, module_.regions.offset(local));
  Id& id = ids_[value];
  if (id == 0) id = b_.new_id();
  return id;
}

Id FunctionTranslation::add(Op op, Id type, const Words& operands) {
  const Id id = b_.new_id();
  Words words{type, id};
  words.insert(words.end(), operands.begin(), operands.end());
  put(code_, op, words);
  return id;
}

void FunctionTranslation::add_as(const llvm::Value& defined, Op op, const Words& operands) {
  Words words{module_.type(defined.getType()), define(&defined)};
  words.insert(words.end(), operands.begin(), operands.end());
  put(code_, op, words);
}

void FunctionTranslation::translate(const llvm::BasicBlock& block) {
  for (const llvm::Instruction& i : block) {
    if (i.isTerminator())
      end_block(block);
    else if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&i))
      translate(*phi);
    else
      translate(i);
  }
}

void FunctionTranslation::translate(const llvm::PHINode& phi) {
  Words operands;
  for (unsigned k = 0; k < phi.getNumIncomingValues(); ++k) {
    operands.push_back(value(phi.getIncomingValue(k)));
    operands.push_back(label(phi.getIncomingBlock(k)));
  }
  add_as(phi, Op::Phi, operands);
}

void FunctionTranslation::end_block(const llvm::BasicBlock& block) {
  const llvm::Instruction& end = *block.getTerminator();
  if (const auto loop = structure_.loops.find(&block); loop != structure_.loops.end()) {
    Id merge = 0;
    if (loop->second.merge)
      merge = label(loop->second.merge);
    else
      missing_merges_.push_back(merge = b_.new_id());
    put(code_, Op::LoopMerge, {merge, label(loop->second.next), 0});
  } else if (const auto found = structure_.selections.find(&block); found != structure_.selections.end()) {
    put(code_, Op::SelectionMerge, {label(found->second), 0});
  }
  if (const auto* ret = llvm::dyn_cast<llvm::ReturnInst>(&end)) {
    if (ret->getReturnValue())
      put(code_, Op::ReturnValue, {value(ret->getReturnValue())});
    else
      put(code_, Op::Return, {});
  } else if (const auto* jump = llvm::dyn_cast<llvm::BranchInst>(&end)) {
    branch(*jump);
  } else if (llvm::isa<llvm::UnreachableInst>(end)) {
    put(code_, Op::Unreachable, {});
  } else {
    refuse(std::string("a block ends with '") + end.getOpcodeName() + "'");
  }
}

void FunctionTranslation::branch(const llvm::BranchInst& branch) {
  if (branch.isUnconditional() || branch.getSuccessor(0) == branch.getSuccessor(1))
    put(code_, Op::Branch, {label(branch.getSuccessor(0))});
  else
    put(code_, Op::BranchConditional,
        {value(branch.getCondition()), label(branch.getSuccessor(0)), label(branch.getSuccessor(1))});
}

}  // namespace weir::codegen::spirv
