// SPDX-License-Identifier: Apache-2.0
// From one task to one LLVM function.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "codegen/debug_lines.hpp"
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
               const DeviceModel& device, DebugLines* lines = nullptr);
  llvm::Function* run();
  /// The forms that run() gave the task; whether its loops become vectors is LLVM's decision, made later.
  const Lowering& lowering() const { return lowering_; }

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
  llvm::Value* saturating_product(llvm::Value* a, llvm::Value* b);
  void lower_parallel(const ir::Statement& loop);
  void lower_iteration(const ir::Statement& loop, const std::vector<llvm::Value*>& indices);
  void for_each_index(const Space& space, const Share& share,
                      const std::function<void(const std::vector<llvm::Value*>&)>& body);
  Cursor cursor_at(const Space& space, llvm::Value* position);
  std::vector<llvm::Value*> row_of(const Cursor& cursor);
  void advance(const Space& space, const Cursor& cursor, llvm::Value* by);
  /// Counts from `from` up to `to`; the loop's iterations are independent when `group` is given.
  void counted_loop(llvm::Value* from, llvm::Value* to, llvm::MDNode* group,
                    const std::function<void(llvm::Value*)>& body);
  /// Says how often the loop that ends in `latch` is to be unrolled; 1 is never.
  void unroll(llvm::BranchInst* latch, std::uint32_t count);
  void while_loop(const std::function<llvm::Value*()>& condition, const std::function<void()>& body);

  // lower_threads.cpp: the loops of devices with many threads
  /// A position in a Space as one number per dimension, the last one fastest.
  struct Digits {
    std::vector<llvm::AllocaInst*> at;
    std::vector<llvm::Value*> count;
  };
  std::vector<llvm::Value*> digits_of(const std::vector<llvm::Value*>& count, llvm::Value* number);
  Digits digits_at(const std::vector<llvm::Value*>& count, llvm::Value* position);
  void advance(const Digits& digits, const std::vector<llvm::Value*>& step);
  void share_among_threads(const ir::Statement& loop);
  void walk_share(const ir::Statement& loop, const Space& space);
  void count_in_blocks(const ir::Statement& loop, const Space& space, std::uint32_t array);
  void for_each_of_block(llvm::Value* count, const std::function<void(llvm::Value*)>& body);
  void stay_in_one_thread();
  /// What differs between the iterations of a packet.
  struct PacketLane {
    std::vector<llvm::Value*> values;
    std::vector<Local> locals;
  };
  void lower_together(const ir::Block& block, std::vector<PacketLane>& lanes);
  void lower_packet(const ir::Statement& loop, const std::vector<llvm::Value*>& first, std::uint32_t width);
  void run_packet(const ir::Statement& loop, const Space& space, std::vector<llvm::Value*> indices,
                  std::uint32_t width, llvm::Value* whole);
  void run_edge(const ir::Statement& loop, const Space& space, std::vector<llvm::Value*> indices,
                std::uint32_t width);
  /// The first packet's place in memory, and the packets from its begin that have all their iterations.
  struct PacketRow {
    llvm::Value *low = nullptr, *whole_from = nullptr, *whole_to = nullptr;
  };
  void walk_packets(const ir::Statement& loop, const Space& space, const Share& share, std::uint32_t width,
                    const PacketRow& row);
  void stepped_loop(llvm::Value* from, llvm::Value* to, std::uint64_t step, std::uint32_t unrolled,
                    const std::function<void(llvm::Value*)>& body);
  llvm::Value* to_word(llvm::Value* v) { return b_.CreateZExtOrTrunc(v, word_); }
  llvm::Value* index_of(llvm::Value* low, llvm::Value* digit);

  // lower_tiles.cpp: blocks that cover several rows
  struct Tiles {
    llvm::Value *row = nullptr, *column = nullptr;              // of the thread in a tile
    llvm::Value *row_shift = nullptr, *column_shift = nullptr;  // a tile's extents are powers of two
    std::uint32_t packets = 1;                                  // of each thread in a tile
    llvm::Value* packet_step = nullptr;                         // rows from one of them to the next
  };
  Tiles tile(std::vector<llvm::Value*>& count, std::uint32_t packets);
  Share block_share(llvm::Value* n);
  void run_tile(const Tiles& tiles, const std::vector<llvm::Value*>& count, std::vector<llvm::Value*> at,
                const std::function<void(const std::vector<llvm::Value*>&)>& body);

  // lower_staged.cpp: sequential loops in which all threads read the same
  llvm::Value* all_inside(llvm::Value* position, llvm::Value* end);
  bool lower_staged(const ir::Statement& s);
  void stage(const std::vector<std::uint32_t>& arrays, llvm::Value* from, std::uint32_t length);
  void run_stretch(const ir::Statement& s, llvm::Value* from, std::uint32_t length);
  llvm::Value* staged_address(const ir::Statement& s);

  // lower_block_reduce.cpp: their reductions
  void reduce_in_blocks(const ir::Statement& loop);
  void reduce_final_in_block();
  llvm::Value* fold_lanes(ir::ReduceKind kind, Type type, llvm::Value* lane, llvm::Value* group,
                          llvm::Value* v, std::uint32_t groups);
  llvm::Value* shuffled_down(llvm::Value* v, std::uint32_t by);
  void fold_values(ir::ReduceKind kind, Type type, std::vector<llvm::Value*>& values);
  llvm::Value* fold_block(ir::ReduceKind kind, Type type, llvm::Value* thread, llvm::Value* v,
                          std::uint32_t size);
  llvm::Value* block_memory(llvm::Type* type, const char* name);

  // lower_reduce.cpp
  void lower_reduce_partial(const ir::Statement& loop);
  void lower_reduce_final();
  std::pair<llvm::Value*, llvm::Value*> chunks_of(llvm::Value* n);
  void accumulate(const ir::Statement& loop, const std::vector<llvm::Value*>& indices, llvm::Value* address);
  llvm::Constant* identity(ir::ReduceKind kind, Type type);
  llvm::Value* combine(ir::ReduceKind kind, Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* combine_lanes(ir::ReduceKind kind, Type type, llvm::Value* lanes);
  llvm::Value* lane_address(llvm::Value* lanes, llvm::Value* lane);
  void fill_lanes(llvm::Value* lanes, llvm::Constant* value);
  llvm::Value* chunk_count_address();
  llvm::Value* partial_address(llvm::Type* type, llvm::Value* chunk);

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
  llvm::Value* row_extent(std::uint32_t parameter, std::uint32_t dimension);
  llvm::Value* element_address(const ir::Statement& s, std::size_t rank);
  llvm::Value* load_scalar(Type type, llvm::Value* address, bool independent);
  void store_scalar(Type type, llvm::Value* value, llvm::Value* address, bool independent);
  llvm::Value* lower_atomic(const ir::Statement& s);
  llvm::Value* float_atomic(Type type, llvm::Value* address,
                            const std::function<llvm::Value*(llvm::Value*)>& change);
  llvm::Value* exact_add(llvm::Value* address, llvm::Value* operand);
  llvm::Value* device_atomic(llvm::AtomicRMWInst::BinOp op, Type type, llvm::Value* address,
                             llvm::Value* operand);
  void declare_local(const ir::Statement& s);
  llvm::Value* local_address(const ir::Statement& s, bool indexed);
  llvm::Value* temporary_address(const ir::Statement& s, bool indexed);

  // lower_control.cpp
  void lower_if(const ir::Statement& s);
  void lower_while(const ir::Statement& s);
  void lower_for(const ir::Statement& s);
  /// The loop around what `body` makes for its index; its latch.
  llvm::BranchInst* lower_for(const ir::Statement& s, llvm::Value* low,
                              const std::function<void(llvm::Value*)>& body);
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
  DebugLines* const lines_;  // null: code without source lines
  Builder b_;
  llvm::Function* function_ = nullptr;
  Lowering lowering_;
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
  unsigned long_chains_ = 0;                   // of math functions that were called so far
  llvm::Value* yielded_ = nullptr;
  std::map<const ir::Statement*, std::uint32_t> sites_;
  std::uint64_t stack_bytes_ = 0;
  llvm::IntegerType* word_ = nullptr;  // of positions in loops of many threads

  const ir::Statement* staging_loop_ = nullptr;  // the parallel loop whose iterations may stage
  llvm::Value* all_inside_ = nullptr;
  std::map<std::uint32_t, std::pair<llvm::Value*, llvm::Value*>>
      staged_;  // an array's stretch, and the place in it
  ir::ValueId staged_index_ = ir::no_value;
};

}  // namespace weir::codegen
