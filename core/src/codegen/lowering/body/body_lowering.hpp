// SPDX-License-Identifier: Apache-2.0
// Lowers the statements of one iteration, in order.
#pragma once

#include <optional>
#include <vector>

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

class StagedLoops;

class BodyLowering : private FunctionPart {
 public:
  /// Keeps references to all arguments. `staged` are the loops of the iteration that read from staged arrays,
  /// or null.
  explicit BodyLowering(TaskFunction& f, Iteration& iteration, StagedLoops* staged = nullptr)
      : FunctionPart(f), it_(iteration), staged_(staged) {}

  // lower_statement.cpp
  void lower(const ir::Block& block);
  void lower(const ir::Statement& s);
  /// The atomic operation `s` with another operand.
  void update_element(const ir::Statement& s, llvm::Value* operand);

 private:
  llvm::Value* lower_value(const ir::Statement& s);
  llvm::Value* lower_math(const ir::Statement& s);
  llvm::Value* lower_atomic(const ir::Statement& s);

  // lower_memory.cpp
  llvm::Value* row_extent(std::uint32_t parameter, std::uint32_t dimension);
  llvm::Value* element_address(const ir::Statement& s, std::size_t operands);
  /// `array`: the parameter of which an element is accessed.
  llvm::Value* load_scalar(Type type, llvm::Value* address, bool independent,
                           std::optional<std::uint32_t> array = {});
  void store_scalar(Type type, llvm::Value* value, llvm::Value* address, bool independent,
                    std::optional<std::uint32_t> array = {});
  void mark(llvm::Instruction& access, bool independent, std::optional<std::uint32_t> array);
  void declare_local(const ir::Statement& s);
  llvm::Value* local_address(const ir::Statement& s, bool indexed);
  llvm::Value* load_local(const ir::Statement& s);
  void store_local(const ir::Statement& s);
  /// Whether the local's memory is accessed by threads of a group that are independent between barriers.
  bool is_of_group(const ir::Statement& s) const {
    return it_.local(s.index).threads > 1 || it_.local(s.index).shared;
  }
  llvm::Value* scratch_address(const ir::Statement& s, bool indexed);

  // lower_group.cpp
  void lower_threads(const ir::Statement& s);
  void lower_thread(const ir::Statement& s);
  void lower_subgroups(const ir::Statement& s);
  void lower_barrier(const ir::Statement& s);
  llvm::Value* lower_shuffle(const ir::Statement& s);
  llvm::Value* lower_ballot(const ir::Statement& s);
  llvm::Value* exchange(llvm::Value* v, llvm::Value* from, std::uint64_t width);
  llvm::Value* exchange_through_memory(llvm::Value* v, llvm::Value* from);
  llvm::Value* ballot_of_bytes(const ir::Statement& s);
  llvm::Value* ballot_through_memory(llvm::Value* holds, std::uint64_t width);
  llvm::Value* exchange_memory(llvm::Type* type);
  bool fill(std::uint32_t lanes, std::uint64_t width) const;

  // lower_control.cpp
  void lower_if(const ir::Statement& s);
  void lower_while(const ir::Statement& s);
  void lower_for(const ir::Statement& s);
  void lower_assert(const ir::Statement& s);
  llvm::Value* has_failed();
  void lower_print(const ir::Statement& s);
  void check_index(const ir::Statement& s, const std::vector<llvm::Value*>& indices,
                   const std::vector<llvm::Value*>& extents);
  void fail_unless(llvm::Value* holds, const ir::Statement& s, const std::vector<llvm::Value*>& indices,
                   const std::vector<llvm::Value*>& extents);

  Iteration& it_;
  StagedLoops* staged_;
};

/// Lowers the iteration of `loop` at `indices`, and continues at its end.
void lower_iteration(TaskFunction& f, const Iteration& around, const ir::Statement& loop,
                     const std::vector<llvm::Value*>& indices, llvm::MDNode* access_group = nullptr,
                     StagedLoops* staged = nullptr);

}  // namespace weir::codegen
