// SPDX-License-Identifier: Apache-2.0
// Positions in loops of many threads, as unsigned words: 32 bits where the launch's assumptions bound them,
// else 64.
#pragma once

#include <vector>

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

class Words : private FunctionPart {
 public:
  explicit Words(TaskFunction& f);

  llvm::IntegerType* type() const { return type_; }
  bool index32() const { return index32_; }
  llvm::ConstantInt* word(std::uint64_t v) { return llvm::ConstantInt::get(type_, v); }
  llvm::Value* to_word(llvm::Value* v) { return b_.CreateZExtOrTrunc(v, type_); }
  std::vector<llvm::Value*> to_words(std::vector<llvm::Value*> values);
  /// The i64 index `digit` above `low`.
  llvm::Value* index_of(llvm::Value* low, llvm::Value* digit);
  /// A number in the system whose digits run below `count`, the last one fastest.
  std::vector<llvm::Value*> digits_of(const std::vector<llvm::Value*>& count, llvm::Value* number);

 private:
  bool index32_;
  llvm::IntegerType* type_;
};

/// A position as one digit per dimension. The constructor divides; after that, positions move by additions.
class Digits : private FunctionPart {
 public:
  Digits(TaskFunction& f, const Words& words, const std::vector<llvm::Value*>& count, llvm::Value* position);
  std::vector<llvm::Value*> values();
  void advance(const std::vector<llvm::Value*>& step);
  /// The memory of the only digit of a space with one dimension.
  llvm::AllocaInst* only() const { return at_.at(0); }

 private:
  llvm::IntegerType* type_;
  std::vector<llvm::Value*> count_;
  std::vector<llvm::AllocaInst*> at_;
};

}  // namespace weir::codegen
