// SPDX-License-Identifier: Apache-2.0
// The state of one iteration while its code is generated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

/// Created for each lowering of a loop's body, and for each lane where several iterations are lowered
/// together. It cannot be copied, so two iterations never share values, locals or their end block. The
/// statements around the loop have one, too.
class Iteration {
 public:
  struct Local {
    llvm::AllocaInst* storage = nullptr;
    ScalarType type = ScalarType::i32;
    std::uint64_t count = 1;
    /// The threads that each have `count` elements in `storage`; element e of thread t is at e * threads + t.
    std::uint64_t threads = 1;
    bool shared = false;             ///< by the threads of a group
    llvm::Value* address = nullptr;  ///< the storage, in memory of the block or the stack
    /// Each element of 1 or 2 bytes is in the low bytes of a 4-byte word, for atomic operations on GPUs.
    bool in_words = false;
  };
  /// Registers, by the atomic additions that change them instead of memory.
  using Sums = std::map<const ir::Statement*, llvm::AllocaInst*>;
  /// The thread of a group that runs the current statements.
  struct Thread {
    llvm::Value* number;  ///< i64
    std::uint64_t count;  ///< of the threads of the group
    bool is_one_of_many;  ///< one caller runs all threads, one after the other
  };
  struct Exits {
    llvm::BasicBlock* break_to;
    llvm::BasicBlock* continue_to;
  };

  /// The statements around a task's loop; their end is the task's end.
  explicit Iteration(TaskFunction& f);
  /// The iteration of `loop` at `indices`; values and locals of `around` are visible in it.
  Iteration(const Iteration& around, const ir::Statement& loop, const std::vector<llvm::Value*>& indices);
  /// The statements around a loop, with one array at another address, in memory of the block or, on devices
  /// without threads(), of the thread.
  Iteration(const Iteration& around, std::uint32_t moved_array, llvm::Value* address);
  /// The statements around a loop. Keeps a reference to the loop's sums.
  Iteration(const Iteration& around, const Sums& sums);
  /// Returns the storage of its locals.
  ~Iteration();
  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;

  /// Throws Error{compile} for a value that has not been defined.
  llvm::Value* value(ir::ValueId id) const;
  ScalarType type_of(ir::ValueId id) const { return types_.at(id); }
  /// Ignores ir::no_value.
  void define(ir::ValueId id, ScalarType type, llvm::Value* value);

  /// Replaces the indices of a group loop; they become those of another thread.
  void move_to(const ir::Statement& loop, const std::vector<llvm::Value*>& indices);
  /// The storage of the local that `s` declares, the same each time that this iteration declares it.
  const Local& declare(const ir::Statement& s);
  /// Throws Error{compile} for a local that has not been declared.
  const Local& local(std::uint32_t number) const;

  /// The address of an array parameter.
  llvm::Value* array(std::uint32_t parameter) const;
  /// Whether only this thread accesses the array's memory.
  bool is_private(std::uint32_t parameter) const;

  /// The register that an atomic addition changes instead of memory; null for most.
  llvm::AllocaInst* sum(const ir::Statement& addition) const;

  /// Of the loop, for error records and prints; empty around it.
  const std::vector<llvm::Value*>& indices() const { return indices_; }

  llvm::BasicBlock* end = nullptr;       ///< where it goes when it fails or continues
  std::vector<Exits> loops;              ///< of the loops around the current statement, innermost last
  std::optional<Thread> thread;          ///< in a group loop
  const ir::Statement* group = nullptr;  ///< the group loop
  llvm::Value* yielded = nullptr;        ///< the operand of the last yield
  llvm::MDNode* access_group = nullptr;  ///< of accesses that conflict with no other iteration's
  bool stores = true;                    ///< false where it runs again for what it prints

 private:
  struct Inherits {};
  /// Has what `around` has, except its end.
  Iteration(Inherits, const Iteration& around);

  TaskFunction& f_;
  std::vector<llvm::Value*> values_;
  std::vector<ScalarType> types_;
  std::vector<Local> locals_;
  std::vector<bool> owns_;  // locals that it declared, by number
  std::vector<llvm::Value*> indices_;
  std::optional<std::pair<std::uint32_t, llvm::Value*>> moved_array_;
  const Sums* sums_ = nullptr;
};

}  // namespace weir::codegen
