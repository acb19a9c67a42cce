// SPDX-License-Identifier: Apache-2.0
// From one task to one LLVM function.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "codegen/device_model.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::codegen {

/// The type of a value in registers; booleans are i1.
llvm::Type* register_type(llvm::LLVMContext& context, ScalarType type);
/// The type of a scalar in memory; booleans are i8.
llvm::Type* memory_type(llvm::LLVMContext& context, ScalarType type);

class TaskLowering {
 public:
  TaskLowering(llvm::Module& module, const ir::Kernel& kernel, const ir::Task& task,
               const DeviceModel& device);
  llvm::Function* run();

 private:
  using Type = ScalarType;

  /// The indices of a loop: low and count in each dimension, and how many there are in all.
  struct Space {
    std::vector<llvm::Value*> low, high, count;
    llvm::Value* total = nullptr;
    std::size_t rank() const { return low.size(); }
  };
  /// A position in a Space: the indices, and how far the last one is into its row.
  struct Cursor {
    std::vector<llvm::AllocaInst*> outer;  // index of every dimension but the last
    llvm::AllocaInst* column = nullptr;
  };
  struct Local {
    llvm::AllocaInst* storage = nullptr;
    Type type = Type::i32;
    std::uint64_t count = 1;
  };
  struct LoopExits {
    llvm::BasicBlock* break_to;
    llvm::BasicBlock* continue_to;
  };

  // lower_task.cpp: the skeletons
  void load_arguments();
  Space space_of(const ir::Statement& loop);
  void lower_parallel(const ir::Statement& loop);
  void lower_iteration(const ir::Statement& loop, const std::vector<llvm::Value*>& indices);
  void for_each_index(const Space& space, const Share& share,
                      const std::function<void(const std::vector<llvm::Value*>&)>& body);
  void for_each_strided(const Space& space, const Share& share,
                        const std::function<void(const std::vector<llvm::Value*>&)>& body);
  Cursor cursor_at(const Space& space, llvm::Value* position);
  std::vector<llvm::Value*> row_of(const Cursor& cursor);
  void advance(const Space& space, const Cursor& cursor, llvm::Value* by);
  /// Counts from `from` up to `to`; the loop's iterations are independent when `group` is given.
  void counted_loop(llvm::Value* from, llvm::Value* to, llvm::MDNode* group,
                    const std::function<void(llvm::Value*)>& body);
  void while_loop(const std::function<llvm::Value*()>& condition, const std::function<void()>& body);

  // lower_reduce.cpp
  void lower_reduce_partial(const ir::Statement& loop);
  void lower_reduce_final();
  llvm::Constant* identity(ir::ReduceKind kind, Type type);
  llvm::Value* combine(ir::ReduceKind kind, Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* combine_lanes(ir::ReduceKind kind, Type type, llvm::Value* lanes);
  llvm::Value* lane_address(llvm::Value* lanes, llvm::Value* lane);
  void fill_lanes(llvm::Value* lanes, llvm::Constant* value);

  // lower_statement.cpp
  void lower_block(const ir::Block& block);
  void lower(const ir::Statement& s);
  llvm::Value* lower_value(const ir::Statement& s);

  // lower_arithmetic.cpp
  llvm::Value* lower_binary(ir::Op op, Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* lower_compare(ir::Op op, Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* lower_unary(ir::Op op, Type type, llvm::Value* a);
  llvm::Value* lower_division(bool remainder, Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* lower_cast(Type from, Type to, llvm::Value* a);
  llvm::Value* lower_philox(const ir::Statement& s);
  llvm::Value* f64_to_f16(llvm::Value* a);

  // lower_math.cpp
  llvm::Value* lower_math(const ir::Statement& s);
  llvm::Value* call_library(std::string_view name, Type type, llvm::Type* result,
                            llvm::ArrayRef<llvm::Value*> args);

  // lower_memory.cpp
  llvm::Value* element_address(const ir::Statement& s, std::size_t rank);
  llvm::Value* load_scalar(Type type, llvm::Value* address, bool independent);
  void store_scalar(Type type, llvm::Value* value, llvm::Value* address, bool independent);
  llvm::Value* lower_atomic(const ir::Statement& s);
  llvm::Value* float_atomic(ir::AtomicKind kind, Type type, llvm::Value* address, llvm::Value* value);
  void declare_local(const ir::Statement& s);
  llvm::Value* local_address(const ir::Statement& s, bool indexed);
  llvm::Value* temporary_address(const ir::Statement& s, bool indexed);

  // lower_control.cpp
  void lower_if(const ir::Statement& s);
  void lower_while(const ir::Statement& s);
  void lower_for(const ir::Statement& s);
  void lower_assert(const ir::Statement& s);
  void check_index(const ir::Statement& s, const std::vector<llvm::Value*>& indices,
                   const std::vector<llvm::Value*>& extents);
  void fail_unless(llvm::Value* holds, const ir::Statement& s, const std::vector<llvm::Value*>& indices,
                   const std::vector<llvm::Value*>& extents);
  llvm::Function* failure_report();

  // helpers
  llvm::Value* value(ir::ValueId id) const;
  Type type_of(ir::ValueId id) const { return types_[id]; }
  void define(const ir::Statement& s, Type type, llvm::Value* value);
  llvm::ConstantInt* i64(std::uint64_t v) { return b_.getInt64(v); }
  llvm::ConstantInt* i32(std::uint32_t v) { return b_.getInt32(v); }
  llvm::BasicBlock* new_block(const char* name);
  llvm::AllocaInst* stack_slot(llvm::Type* type, std::uint64_t count, const char* name);
  llvm::Value* extent(std::uint32_t parameter, std::uint32_t dimension) const;
  /// Ends the current block with a jump unless it has ended already.
  void jump(llvm::BasicBlock* to);
  bool ended() const { return b_.GetInsertBlock()->getTerminator() != nullptr; }
  std::uint32_t site(const ir::Statement& s) const;
  void number_sites(const ir::Block& block);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const ir::Kernel& kernel_;
  const ir::Task& task_;
  const DeviceModel& device_;
  Builder b_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* return_block_ = nullptr;

  std::vector<llvm::Value*> values_;
  std::vector<Type> types_;
  std::vector<Local> locals_;
  std::vector<llvm::Value*> arrays_;                                         // by parameter
  std::map<std::pair<std::uint32_t, std::uint32_t>, llvm::Value*> extents_;  // by parameter and dimension
  std::map<std::pair<std::uint32_t, std::uint32_t>, llvm::Value*> scalars_;  // by parameter and lane
  llvm::Value* temporaries_ = nullptr;
  llvm::Value* error_record_ = nullptr;
  llvm::Value* launch_key_ = nullptr;
  llvm::Value* site_base_ = nullptr;

  std::vector<LoopExits> loops_;
  llvm::BasicBlock* iteration_end_ = nullptr;  // where an iteration goes when it fails or continues
  std::vector<llvm::Value*> loop_indices_;     // of the iteration, for error records
  llvm::MDNode* access_group_ = nullptr;       // of accesses in independent iterations
  std::size_t lane_width_ = 0;                 // > 0: iterations of the parallel loop run in this many lanes
  llvm::Value* yielded_ = nullptr;
  std::map<const ir::Statement*, std::uint32_t> sites_;
  std::uint64_t stack_bytes_ = 0;
};

}  // namespace weir::codegen
