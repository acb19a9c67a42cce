// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "changes.hpp"

namespace weir::mutation {

using namespace llvm;

namespace {

class Application {
 public:
  explicit Application(Function& function) : function_(function), context_(function.getContext()) {
    Module& module = *function.getParent();
    // After the local variables, which must stay in the entry block when it is split.
    BasicBlock& entry = function.getEntryBlock();
    auto position = entry.getFirstInsertionPt();
    for (auto at = position; at != entry.end(); ++at) {
      if (isa<AllocaInst>(*at)) position = std::next(at);
    }
    IRBuilder<> builder(&entry, position);
    Type* number = builder.getInt32Ty();
    selected_ = builder.CreateLoad(number, variable(module, "weir_mutation_selected", number));
    Type* pointer = builder.getPtrTy();
    marks_ = builder.CreateLoad(pointer, variable(module, "weir_mutation_marks", pointer));
  }

  void change_results(Instruction& at, const std::vector<const Change*>& changes) {
    SmallVector<Use*> uses;
    for (Use& use : at.uses()) uses.push_back(&use);
    IRBuilder<> builder(context_);
    const auto after = at.getInsertionPointAfterDef();
    builder.SetInsertPoint((*after)->getParent(), *after);
    builder.SetCurrentDebugLocation(at.getDebugLoc());
    Value* value = select(builder, changes, &at);
    for (Use* use : uses) use->set(value);
  }

  void change_operand(Instruction& at, unsigned operand, const std::vector<const Change*>& changes) {
    Instruction* before = &at;
    if (auto* phi = dyn_cast<PHINode>(&at)) before = phi->getIncomingBlock(operand)->getTerminator();
    IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(at.getDebugLoc());
    at.setOperand(operand, select(builder, changes, at.getOperand(operand)));
  }

  void leave_out(Instruction& at, const Change& change) {
    BasicBlock* block = at.getParent();
    if (auto* invoke = dyn_cast<InvokeInst>(&at)) {
      BasicBlock* next = invoke->getNormalDest();
      BasicBlock* calling = block->splitBasicBlock(at.getIterator());
      IRBuilder<> builder(block->getTerminator());
      builder.CreateCondBr(is_selected(builder, change.id), next, calling);
      block->getTerminator()->eraseFromParent();
      for (PHINode& phi : next->phis()) phi.addIncoming(phi.getIncomingValueForBlock(calling), block);
      return;
    }
    IRBuilder<> builder(&at);
    Value* runs = builder.CreateNot(is_selected(builder, change.id));
    Instruction* then = SplitBlockAndInsertIfThen(runs, at.getIterator(), false);
    at.moveBefore(then->getIterator());
  }

  void set_mark(BasicBlock* block, unsigned mark) {
    IRBuilder<> builder(block, block == &function_.getEntryBlock()
                                   ? std::next(cast<Instruction>(marks_)->getIterator())
                                   : block->getFirstInsertionPt());
    Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), marks_, mark);
    // Not written twice, so that threads do not compete for its cache line.
    Value* unset = builder.CreateICmpEQ(builder.CreateLoad(builder.getInt8Ty(), place), builder.getInt8(0));
    Instruction* then = SplitBlockAndInsertIfThen(unset, builder.GetInsertPoint(), false);
    IRBuilder<>(then).CreateStore(builder.getInt8(1), place);
  }

 private:
  static GlobalVariable* variable(Module& module, const char* name, Type* type) {
    auto* found = cast<GlobalVariable>(module.getOrInsertGlobal(name, type));
    found->setVisibility(GlobalValue::HiddenVisibility);
    found->setDSOLocal(true);
    return found;
  }

  Value* is_selected(IRBuilder<>& builder, unsigned id) {
    return builder.CreateICmpEQ(selected_, builder.getInt32(id));
  }

  Value* select(IRBuilder<>& builder, const std::vector<const Change*>& changes, Value* old) {
    Value* value = old;
    for (const Change* change : changes) {
      Value* changed = change->make(builder, old);
      value = builder.CreateSelect(is_selected(builder, change->id), changed, value);
    }
    return value;
  }

  Function& function_;
  LLVMContext& context_;
  Value* selected_;
  Value* marks_;
};

}  // namespace

void apply_changes(Function& function, const std::vector<Change>& changes) {
  Application application(function);
  MapVector<Instruction*, std::vector<const Change*>> results;
  MapVector<std::pair<Instruction*, unsigned>, std::vector<const Change*>> operands;
  MapVector<BasicBlock*, const Change*> marks;
  for (const Change& change : changes) {
    marks.insert({change.at->getParent(), &change});
    if (change.part == Change::Part::result) results[change.at].push_back(&change);
    if (change.part == Change::Part::operand) operands[{change.at, change.operand}].push_back(&change);
  }
  // Marks split blocks at their beginnings, so that the instructions of the changes move on to new blocks.
  for (const auto& [block, change] : marks) application.set_mark(block, change->mark);
  for (const auto& [at, of_result] : results) application.change_results(*at, of_result);
  for (const auto& [at, of_operand] : operands) application.change_operand(*at.first, at.second, of_operand);
  for (const Change& change : changes) {
    if (change.part == Change::Part::whole) application.leave_out(*change.at, change);
  }
}

}  // namespace weir::mutation
