// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

constexpr std::uint64_t cache_line = 64;  // bytes
/// Hardware follows about this many streams.
constexpr std::size_t max_streams_of_hardware = 32;

/// Addresses that a loop accesses at a constant distance.
struct Stream {
  llvm::Instruction* access;  ///< the first in the loop
  const llvm::SCEV* form;
  std::uint64_t step;  ///< bytes from one iteration to the next, in two's complement
};

class Streams {
 public:
  Streams(const llvm::Loop& loop, llvm::ScalarEvolution& forms) : loop_(loop), forms_(forms) {
    for (llvm::BasicBlock* block : loop.blocks())
      for (llvm::Instruction& i : *block) add(i);
  }

  void prefetch_next() const {
    if (all_.size() <= max_streams_of_hardware) return;
    for (const Stream& stream : all_) {
      llvm::IRBuilder<> b(stream.access);
      llvm::Value* next = b.CreateGEP(b.getInt8Ty(), llvm::getLoadStorePointerOperand(stream.access),
                                      b.getInt64(stream.step));
      constexpr std::uint32_t to_read = 0, into_all_caches = 3, data = 1;
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {next->getType()},
                        {next, b.getInt32(to_read), b.getInt32(into_all_caches), b.getInt32(data)});
    }
  }

 private:
  void add(llvm::Instruction& i) {
    llvm::Value* address = llvm::getLoadStorePointerOperand(&i);
    if (!address) return;
    const auto* form = llvm::dyn_cast<llvm::SCEVAddRecExpr>(forms_.getSCEV(address));
    if (!form || form->getLoop() != &loop_ || !form->isAffine()) return;
    const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(form->getStepRecurrence(forms_));
    // The same line would be prefetched many times.
    if (!step || step->getAPInt().abs().ult(cache_line / 2)) return;
    for (const Stream& known : all_) {
      const auto* distance = llvm::dyn_cast<llvm::SCEVConstant>(forms_.getMinusSCEV(form, known.form));
      if (distance && distance->getAPInt().abs().ult(cache_line)) return;
    }
    all_.push_back({&i, form, step->getAPInt().getZExtValue()});
  }

  const llvm::Loop& loop_;
  llvm::ScalarEvolution& forms_;
  std::vector<Stream> all_;
};

}  // namespace

llvm::PreservedAnalyses PrefetchStreams::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager& analyses) {
  auto& forms = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  for (const llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder())
    if (loop->isInnermost()) Streams(*loop, forms).prefetch_next();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace weir::codegen
