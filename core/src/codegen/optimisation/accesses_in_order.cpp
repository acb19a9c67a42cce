// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/LoopIterator.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

/// An address of one loop. Those of groups that differ by a constant in each iteration have a common base.
struct Place {
  const llvm::SCEV* address;
  std::int64_t step;        ///< bytes from one iteration to the next; 0 if not a constant
  std::size_t base = 0;     ///< number of the first such place
  std::int64_t offset = 0;  ///< from it
};

struct Access {
  llvm::Instruction* instruction;
  bool writes;
  std::size_t place;  ///< number of the base of its Place; unknown_place for accesses of any memory
  std::int64_t offset = 0, size = 0;
};
constexpr std::size_t unknown_place = ~std::size_t{0};
constexpr std::size_t most_compared = 1 << 20;  // pairs; loops with more have thousands of accesses

/// Where the pointer of an array, or of a block's shared memory, is passed: a byte of an argument of the
/// function. No argument: the pointer is none of these.
struct PassedPointer {
  const llvm::Argument* argument = nullptr;
  std::int64_t byte = 0;
};
PassedPointer passed_pointer(const llvm::Instruction& access, const llvm::DataLayout& layout) {
  const llvm::Value* const object = llvm::getUnderlyingObject(llvm::getLoadStorePointerOperand(&access));
  const auto* const load = llvm::dyn_cast<llvm::LoadInst>(object);
  if (!load || !load->hasMetadata(llvm::LLVMContext::MD_invariant_load)) return {};
  PassedPointer passed;
  const llvm::Value* const base =
      llvm::GetPointerBaseWithConstantOffset(load->getPointerOperand(), passed.byte, layout);
  passed.argument = llvm::dyn_cast<llvm::Argument>(base);
  return passed;
}

/// The accesses of an innermost loop, in the order of an iteration.
class Accesses {
 public:
  /// `no_alias`: different arrays share no memory.
  Accesses(llvm::Loop& loop, llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution,
           llvm::AAResults& aliases, bool no_alias)
      : loop_(loop),
        evolution_(evolution),
        aliases_(aliases),
        layout_(evolution.getDataLayout()),
        no_alias_(no_alias),
        assumed_(evolution, loop) {
    llvm::LoopBlocksRPO order(&loop);
    order.perform(&loops);
    for (llvm::BasicBlock* block : order)
      for (llvm::Instruction& i : *block)
        if (i.mayReadOrWriteMemory()) add(i);
  }

  /// Whether the vectoriser may move an access of a group past another one of the same bytes. It loads the
  /// members of an interleaved group where the first of them is, and stores them where the last one is.
  bool may_change_order() {
    std::size_t compared = 0;
    for (std::size_t m = 0; m < list_.size(); ++m) {
      const Access& moved = list_[m];
      if (moved.place == unknown_place || !is_strided(moved)) continue;
      // The member whose position the group takes, in the worst case.
      const std::size_t other = moved.writes ? last_like(m) : first_like(m);
      const auto [first, last] = std::minmax(m, other);
      if ((compared += last - first) > most_compared) return true;
      for (std::size_t x = first + 1; x < last; ++x)
        if ((moved.writes || list_[x].writes) && may_overlap(list_[x], moved)) return true;
    }
    return false;
  }

 private:
  void add(llvm::Instruction& i) {
    llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&i);
    if (!pointer || i.isAtomic() || llvm::getLoadStoreType(&i)->isScalableTy()) {
      list_.push_back({&i, i.mayWriteToMemory(), unknown_place});
      return;
    }
    Access access{&i, i.mayWriteToMemory(), unknown_place};
    access.size = std::int64_t(layout_.getTypeStoreSize(llvm::getLoadStoreType(&i)).getFixedValue());
    // The vectoriser assumes that indices do not wrap, and checks it before the loop.
    Place place{.address = assumed_.getAsAddRec(pointer), .step = 0};
    if (const auto* steps = llvm::dyn_cast_or_null<llvm::SCEVAddRecExpr>(place.address);
        steps && steps->getLoop() == &loop_ && steps->isAffine()) {
      const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(steps->getStepRecurrence(evolution_));
      if (step && step->getAPInt().isSignedIntN(63)) place.step = step->getAPInt().getSExtValue();
    }
    if (!place.address) place.address = evolution_.getSCEV(pointer);
    access.place = find(place, access);
    first_.try_emplace({access.place, access.writes, access.size}, list_.size());
    last_[{access.place, access.writes, access.size}] = list_.size();
    list_.push_back(access);
  }

  /// The number of the access's place, and its offset there.
  std::size_t find(const Place& place, Access& access) {
    const auto [known, is_new] = by_address_.try_emplace(place.address, places_.size());
    if (!is_new) {
      access.offset = places_[known->second].offset;
      return places_[known->second].base;
    }
    // Other distances than those between members of groups need not be known.
    auto& alike = by_step_[{evolution_.getPointerBase(place.address), place.step}];
    std::size_t base = places_.size();
    if (std::abs(place.step) >= 2 * access.size)
      for (const std::size_t other : alike) {
        const auto* distance = llvm::dyn_cast<llvm::SCEVConstant>(
            evolution_.getMinusSCEV(place.address, places_[other].address));
        if (!distance || !distance->getAPInt().isSignedIntN(48)) continue;
        access.offset = distance->getAPInt().getSExtValue();
        base = other;
        break;
      }
    if (base == places_.size()) alike.push_back(base);
    places_.push_back({place.address, place.step, base, access.offset});
    return base;
  }

  /// Consecutive iterations leave gaps, which other members of a group may fill.
  bool is_strided(const Access& access) const {
    return std::abs(places_[access.place].step) >= 2 * access.size;
  }
  std::size_t first_like(std::size_t n) const {
    return first_.at({list_[n].place, list_[n].writes, list_[n].size});
  }
  std::size_t last_like(std::size_t n) const {
    return last_.at({list_[n].place, list_[n].writes, list_[n].size});
  }

  /// Whether both may access the same byte in one iteration.
  bool may_overlap(const Access& a, const Access& b) {
    if (a.place == unknown_place || b.place == unknown_place) return true;
    if (a.place == b.place) return a.offset < b.offset + b.size && b.offset < a.offset + a.size;
    const auto [known, is_new] = aliasing_.try_emplace(std::minmax(a.place, b.place), false);
    if (is_new) {
      const auto all = [](const Access& access) {
        return llvm::MemoryLocation::get(access.instruction)
            .getWithNewSize(llvm::LocationSize::beforeOrAfterPointer());
      };
      known->second = !are_apart(a, b) && !aliases_.isNoAlias(all(a), all(b));
    }
    return known->second;
  }

  /// Whether they access different arrays, or an array and shared memory.
  bool are_apart(const Access& a, const Access& b) const {
    const PassedPointer first = passed_pointer(*a.instruction, layout_);
    const PassedPointer second = passed_pointer(*b.instruction, layout_);
    if (!first.argument || !second.argument) return false;
    return first.argument != second.argument || (no_alias_ && first.byte != second.byte);
  }

  llvm::Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  llvm::AAResults& aliases_;
  const llvm::DataLayout& layout_;
  const bool no_alias_;
  llvm::PredicatedScalarEvolution assumed_;
  std::vector<Access> list_;
  std::vector<Place> places_;
  std::map<const llvm::SCEV*, std::size_t> by_address_;
  std::map<std::pair<const llvm::SCEV*, std::int64_t>, std::vector<std::size_t>> by_step_;  // bases
  std::map<std::tuple<std::size_t, bool, std::int64_t>, std::size_t> first_,
      last_;                                                      // by place, write and size
  std::map<std::pair<std::size_t, std::size_t>, bool> aliasing_;  // by two places
};

}  // namespace

llvm::PreservedAnalyses AccessesInOrder::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || !loop->isAnnotatedParallel()) continue;
    Accesses accesses(*loop, loops, analyses.getResult<llvm::ScalarEvolutionAnalysis>(function),
                      analyses.getResult<llvm::AAManager>(function), no_alias_);
    if (!accesses.may_change_order()) continue;
    loop->setLoopID(llvm::makePostTransformationMetadata(function.getContext(), loop->getLoopID(),
                                                         {"llvm.loop.parallel_accesses"}, {}));
  }
  return llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
