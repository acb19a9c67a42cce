// SPDX-License-Identifier: Apache-2.0
// Operations on values in registers.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

class Arithmetic : private FunctionPart {
 public:
  explicit Arithmetic(TaskFunction& f) : FunctionPart(f) {}

  // lower_arithmetic.cpp
  /// Minima and maxima also accept vectors.
  llvm::Value* lower_binary(ir::Op op, Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* lower_compare(ir::Op op, Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* lower_unary(ir::Op op, Type type, llvm::Value* a);
  llvm::Value* lower_cast(Type from, Type to, llvm::Value* a);
  /// Word `word` of four.
  llvm::Value* lower_philox(std::array<llvm::Value*, 2> key, std::array<llvm::Value*, 4> c, unsigned word);

  // lower_math.cpp
  /// `type` is that of the arguments.
  llvm::Value* lower_math(ir::MathFunction function, Type type, Type result,
                          const std::vector<llvm::Value*>& args);

 private:
  llvm::Value* lower_division(bool remainder, Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* f64_to_f16(llvm::Value* a);
  llvm::Value* call_library(std::string_view name, Type type, llvm::Type* result,
                            llvm::ArrayRef<llvm::Value*> args);
};

}  // namespace weir::codegen
