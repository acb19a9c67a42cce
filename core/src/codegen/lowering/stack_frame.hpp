// SPDX-License-Identifier: Apache-2.0
// Stack storage of a task's locals, assigned to one iteration at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/targets/device_model.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

struct TaskFunction;

/// Each local has one slot for each iteration that is lowered at the same time, such as the lanes of a
/// packet. Iterations that are lowered one after the other reuse the slots, so that repeated lowering of a
/// body needs no additional stack.
class StackFrame {
 public:
  explicit StackFrame(std::uint32_t locals) : slots_(locals) {}

  /// Storage for the local that `s` declares, which no other iteration uses until give_back().
  llvm::AllocaInst* lend(TaskFunction& f, const ir::Statement& s, std::uint64_t threads);
  void give_back(std::uint32_t local, const llvm::AllocaInst* storage);

  /// Of all slots.
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Slot {
    llvm::AllocaInst* storage;
    bool lent;
  };
  std::vector<std::vector<Slot>> slots_;  // by local
  std::uint64_t bytes_ = 0;
};

}  // namespace weir::codegen
