// SPDX-License-Identifier: Apache-2.0
// The changes that are possible at the places of a function, and their application.
#ifndef WEIR_TESTS_MUTATION_PASS_CHANGES_HPP
#define WEIR_TESTS_MUTATION_PASS_CHANGES_HPP

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <string>
#include <vector>

#include "own_code.hpp"

namespace weir::mutation {

/// The number of a kind is part of the mutants' numbers.
enum class Kind : unsigned { call, result, compare, branch, arithmetic, constant, store, choice };
const char* name_of(Kind kind);

struct Change {
  enum class Part { result, operand, whole };  // `whole`: the instruction does not run

  Kind kind;
  llvm::Instruction* at;
  Part part;
  unsigned operand = 0;
  /// The new value in place of the old one; not for `whole`.
  std::function<llvm::Value*(llvm::IRBuilder<>&, llvm::Value* old)> make;
  std::string text;  // for people

  Place place{};
  unsigned ordinal = 0, id = 0, mark = 0;
};

/// All changes of the function's own code, in the order of its instructions, without numbers.
std::vector<Change> find_changes(llvm::Function& function, const Files& files);

/// Puts all changes into the function, each in effect while the number `weir_mutation_selected` is its own.
/// Each block with changes sets its mark when it runs.
void apply_changes(llvm::Function& function, const std::vector<Change>& changes);

}  // namespace weir::mutation
#endif
