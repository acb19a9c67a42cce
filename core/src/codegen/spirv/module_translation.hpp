// SPDX-License-Identifier: Apache-2.0
// The state that the functions of a module share while they are translated.
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <vector>

#include "codegen/spirv/module_builder.hpp"
#include "codegen/spirv/regions.hpp"
#include "codegen/spirv/translate.hpp"

namespace weir::codegen::spirv {

[[noreturn]] void refuse(const std::string& words);

/// A field of a task's argument block.
struct ArgumentField {
  const llvm::Argument* argument;
  std::uint32_t offset, size;  // bytes
};

class ModuleTranslation {
 public:
  ModuleTranslation(llvm::Module& module, const TranslationOptions& options);
  Words run();
  /// See TranslationOptions.
  bool orders_memory() const { return options_.orders_memory; }
  bool pushes_arguments() const { return options_.pushes_arguments; }

  /// Pointers are integers of 64 bits, booleans have their own type.
  Id type(const llvm::Type* type);
  Id constant(const llvm::Constant* constant);
  Id function(const llvm::Function* function) const { return functions_.at(function); }
  /// The push constants of an entry: the address of the argument block and then `fields`, if these are
  /// pushed.
  Id push_constants(const llvm::Function& entry, const std::vector<ArgumentField>& fields);
  /// Variables that more than one function may use; those of an entry belong to its interface.
  Id variable(Region& region);
  Id element_type(const Region& region);

  ModuleBuilder builder;
  Regions regions;

 private:
  void declare_entry(const llvm::Function& function);
  Words interface_of(const llvm::Function& function);
  Id table(const Region& region);

  llvm::Module& module_;
  const TranslationOptions& options_;
  std::map<const llvm::Function*, Id> functions_;
  std::map<const llvm::Function*, Id> push_constants_;  // of entries
  std::map<Id, Id> push_variables_;                     // by the type of the block
};

/// The type of a value's bits: an integer as wide as `type` in memory.
unsigned memory_bits(const llvm::Type* type);

/// Whether calls of a function are instructions or variables instead.
bool is_declared_function(const llvm::Function& function);

}  // namespace weir::codegen::spirv
