// SPDX-License-Identifier: Apache-2.0
// The LLVM function of one task while its code is appended. It has no state of single iterations: see
// iteration.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/lowering.hpp>

#include "codegen/debug_lines.hpp"
#include "codegen/lowering/task_arguments.hpp"
#include "codegen/targets/device_model.hpp"
#include "ir/ir.hpp"
#include "ir/replicated_phases.hpp"
#include "ir/task.hpp"

namespace weir::codegen {

struct TaskFunction;

/// The type of a value in registers; booleans are i1.
llvm::Type* register_type(llvm::LLVMContext& context, ScalarType type);
/// The type of a scalar in memory; booleans are i8.
llvm::Type* memory_type(llvm::LLVMContext& context, ScalarType type);

/// Stack storage of a task's locals, assigned to one iteration at a time.
///
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

struct TaskFunction {
  /// Declares the function, begins its entry block and loads its arguments.
  TaskFunction(llvm::Module& module, const ir::Kernel& kernel, const ir::Task& task,
               const DeviceModel& device, DebugLines* lines);
  TaskFunction(const TaskFunction&) = delete;
  TaskFunction& operator=(const TaskFunction&) = delete;

  llvm::ConstantInt* i64(std::uint64_t v) { return b.getInt64(v); }
  llvm::ConstantInt* i32(std::uint32_t v) { return b.getInt32(v); }
  llvm::BasicBlock* new_block(const char* name);
  /// Index of this block among the blocks that share a loop's iterations, and their count (i32). A phase
  /// belongs to one block, except in cooperative tasks. On devices with threads().
  llvm::Value* block();
  llvm::Value* blocks();
  /// Whether one block runs each loop.
  bool is_alone() const { return task.kind == ir::TaskKind::phases && !task.cooperative; }
  /// Uninitialised stack memory in the entry block.
  llvm::AllocaInst* stack_slot(llvm::Type* type, std::uint64_t count, const char* name);
  /// Memory that the threads of a block share; only for devices with threads().
  llvm::GlobalVariable* block_memory(llvm::Type* type, const std::string& name);
  /// As block_memory; a second call with the same name in a phase returns the same memory.
  llvm::GlobalVariable* named_block_memory(llvm::Type* type, const std::string& name);
  /// Begins a phase that may reuse the memory of earlier phases. All threads must have finished using it.
  void reuse_block_memory() { ++phase_; }
  /// The address in scratch memory, or of the block's copy of the value there.
  llvm::Value* scratch_address(std::uint64_t offset);
  /// Puts the memory of the phases in one place. For the complete function.
  void lay_out_block_memory();
  /// A function of this module without a body, which returns nothing and is seldom called.
  llvm::Function* cold_function(const std::string& name, llvm::ArrayRef<llvm::Type*> parameters);
  /// Ends the current block with a jump unless it has ended already.
  void jump(llvm::BasicBlock* to);
  bool ended() const { return b.GetInsertBlock()->getTerminator() != nullptr; }
  /// Whether the task runs so many short loops that their instructions, not their iterations, take its time.
  bool keeps_code_small() const { return loops_ > max_fast_loops; }
  /// Whether the task has atomic operations on a local that the threads of a group share.
  bool updates(std::uint32_t shared) const { return updated_.contains(shared); }
  /// The number of a statement that can fail, for error records.
  std::uint32_t site(const ir::Statement& s) const { return sites_.at(&s); }
  /// Throws Error{compile} that names the kernel and the task.
  [[noreturn]] void fail(const std::string& reason) const;

  /// Gives instructions the source line of a statement until the end of the scope.
  class LineScope {
   public:
    LineScope(TaskFunction& f, const ir::Statement& s) : b_(f.b), outer_(f.b.getCurrentDebugLocation()) {
      if (f.lines)
        if (const llvm::DebugLoc own = f.lines->at(s.location)) b_.SetCurrentDebugLocation(own);
    }
    LineScope(const LineScope&) = delete;
    LineScope& operator=(const LineScope&) = delete;
    ~LineScope() { b_.SetCurrentDebugLocation(outer_); }

   private:
    Builder& b_;
    const llvm::DebugLoc outer_;
  };

  llvm::Module& module;
  llvm::LLVMContext& context;
  const ir::Kernel& kernel;
  const ir::Task& task;
  const DeviceModel& device;
  DebugLines* const lines;  ///< null: code without source lines
  Lowering lowering;        ///< forms of code taken so far
  Builder b;
  llvm::Function* const function;
  llvm::BasicBlock* return_block = nullptr;
  TaskArguments arguments;
  StackFrame frame;
  std::optional<ir::ReplicatedPhases> replicated;    ///< in cooperative tasks
  llvm::GlobalVariable* scratch_copies = nullptr;  ///< of a block, 8 bytes each; null if there are none
  unsigned independent_loops = 0;                  ///< loops so far whose iterations are declared independent
  unsigned long_chains = 0;  ///< calls so far to math functions with a long dependency chain

 private:
  struct BlockMemory {
    llvm::GlobalVariable* variable;
    std::string name;
    std::size_t phase;
  };

  llvm::GlobalVariable* new_block_memory(llvm::Type* type, const std::string& name);
  void lay_out(std::span<const BlockMemory> memories);

  void number_sites(const ir::Block& block);

  static constexpr std::size_t max_fast_loops = 16;
  std::size_t loops_ = 0;  ///< parallel loops and reductions
  std::size_t phase_ = 0;
  std::vector<BlockMemory> block_memory_;

  std::map<const ir::Statement*, std::uint32_t> sites_;
  std::set<std::uint32_t> updated_;
};

/// Base of all classes that append code to a task's function. Stateless.
class FunctionPart {
 protected:
  using Type = ScalarType;

  explicit FunctionPart(TaskFunction& f)
      : f_(f), b_(f.b), context_(f.context), kernel_(f.kernel), task_(f.task), device_(f.device) {}

  llvm::ConstantInt* i64(std::uint64_t v) { return f_.i64(v); }
  llvm::ConstantInt* i32(std::uint32_t v) { return f_.i32(v); }
  llvm::BasicBlock* new_block(const char* name) { return f_.new_block(name); }
  llvm::AllocaInst* stack_slot(llvm::Type* type, std::uint64_t count, const char* name) {
    return f_.stack_slot(type, count, name);
  }
  void jump(llvm::BasicBlock* to) { f_.jump(to); }

  TaskFunction& f_;
  Builder& b_;
  llvm::LLVMContext& context_;
  const ir::Kernel& kernel_;
  const ir::Task& task_;
  const DeviceModel& device_;
};

}  // namespace weir::codegen
