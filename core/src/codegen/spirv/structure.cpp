// SPDX-License-Identifier: Apache-2.0
#include "codegen/spirv/structure.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <set>
#include <vector>
#include <weir/error.hpp>

namespace weir::codegen::spirv {
namespace {

using llvm::BasicBlock;

class Structuring {
 public:
  explicit Structuring(llvm::Function& function) : function_(function), dominators_(function) {}

  Structure run() {
    shape_loops();
    name_selections();
    return std::move(result_);
  }

 private:
  void shape_loops() {
    llvm::LoopInfo loops(dominators_);
    const auto outer_first = loops.getLoopsInPreorder();
    for (llvm::Loop* loop : llvm::reverse(outer_first)) shape(*loop, loops);
  }

  /// The header keeps only its phis, the latch branches to a separate block, and the exits meet in one block.
  void shape(llvm::Loop& loop, llvm::LoopInfo& loops) {
    BasicBlock* header = loop.getHeader();
    llvm::SplitBlock(header, header->getFirstNonPHIIt(), &dominators_, &loops);
    BasicBlock* latch = loop.getLoopLatch();
    llvm::SmallVector<BasicBlock*, 4> exits;
    loop.getUniqueExitBlocks(exits);
    if (!latch || exits.size() > 1)
      throw Error(ErrorCode::compile, "SPIR-V: a loop of '" + function_.getName().str() +
                                          "' has several latches or exits; report this as a bug of Weir");
    BasicBlock* next = llvm::SplitEdge(latch, header, &dominators_, &loops);
    BasicBlock* merge = nullptr;
    if (!exits.empty()) {
      llvm::SmallVector<BasicBlock*, 4> from;
      loop.getExitingBlocks(from);
      merge = llvm::SplitBlockPredecessors(exits[0], from, ".merge", &dominators_, &loops);
      merges_.insert(merge);
    }
    next_.insert(next);
    headers_.insert(header);
    result_.loops[header] = {merge, next};
  }

  bool leaves(const BasicBlock* target) const { return merges_.contains(target) || next_.contains(target); }

  void name_selections() {
    const llvm::PostDominatorTree after(function_);
    std::vector<std::pair<unsigned, BasicBlock*>> branching;
    for (BasicBlock& block : function_) {
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
      if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) continue;
      if (!dominators_.isReachableFromEntry(&block)) continue;
      if (leaves(branch->getSuccessor(0)) || leaves(branch->getSuccessor(1))) continue;
      branching.emplace_back(dominators_.getNode(&block)->getLevel(), &block);
    }
    // Inner selections first: the outer ones then end where the blocks lead that were added for these.
    std::stable_sort(branching.begin(), branching.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [level, block] : branching)
      if (const auto* node = after.getNode(block); node && node->getIDom() && node->getIDom()->getBlock())
        name_selection(block, node->getIDom()->getBlock());
  }

  void name_selection(BasicBlock* block, BasicBlock* meeting) {
    llvm::SmallVector<BasicBlock*, 4> inside;
    bool all = true;
    for (BasicBlock* from : llvm::predecessors(meeting)) {
      if (dominators_.dominates(block, from)) {
        if (!llvm::is_contained(inside, from)) inside.push_back(from);
      } else {
        all = false;
      }
    }
    const bool own = all && !leaves(meeting) && !headers_.contains(meeting) && !named_.contains(meeting);
    BasicBlock* merge = own ? meeting : llvm::SplitBlockPredecessors(meeting, inside, ".meet", &dominators_);
    named_.insert(merge);
    result_.selections[block] = merge;
  }

  llvm::Function& function_;
  llvm::DominatorTree dominators_;
  Structure result_;
  std::set<const BasicBlock*> merges_, next_, headers_, named_;
};

}  // namespace

Structure structure(llvm::Function& function) {
  return Structuring(function).run();
}

}  // namespace weir::codegen::spirv
