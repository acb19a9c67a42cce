// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/stack_frame.hpp"

#include <algorithm>

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

llvm::AllocaInst* StackFrame::lend(TaskFunction& f, const ir::Statement& s, std::uint64_t threads) {
  std::vector<Slot>& slots = slots_.at(s.index);
  const auto unused = std::find_if(slots.begin(), slots.end(), [](const Slot& slot) { return !slot.lent; });
  if (unused != slots.end()) {
    unused->lent = true;
    return unused->storage;
  }
  llvm::AllocaInst* storage = f.stack_slot(memory_type(f.context, s.type), s.immediate * threads, "local");
  storage->setAlignment(llvm::Align(threads > 1 ? 64 : s.immediate > 1 ? 16 : size_of(s.type)));
  bytes_ += s.immediate * threads * size_of(s.type);
  slots.push_back({storage, true});
  return storage;
}

void StackFrame::give_back(std::uint32_t local, const llvm::AllocaInst* storage) {
  for (Slot& slot : slots_.at(local))
    if (slot.storage == storage) slot.lent = false;
}

}  // namespace weir::codegen
