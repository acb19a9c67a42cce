// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "codegen/math/mathlib/mathlib.hpp"

namespace weir::mathlib {
namespace {

struct Function {
  const char* name;
  int operands;
};
constexpr Function functions[] = {
#define WEIR_MATH(name, operands) {#name, operands},
#include "ir/math.def"
#undef WEIR_MATH
};

bool integer_operand(llvm::StringRef name) {
  return name == "ldexp" || name == "pown" || name == "rootn";
}

// Operations that LLVM provides, exact on every target; the compiler emits them in place.
bool built_in(llvm::StringRef name) {
  for (const char* own :
       {"ceil", "floor", "trunc", "rint", "sqrt", "fma", "copysign", "isnan", "isinf", "isfinite"})
    if (name == own) return true;
  return false;
}

std::string symbol(llvm::StringRef name, char type) {
  return "weir_" + name.str() + (type == 'f' ? "_f32" : "_f64");
}

}  // namespace

void select_functions(llvm::Module& module) {
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) f.setLinkage(llvm::GlobalValue::InternalLinkage);
  for (const Function& function : functions) {
    if (built_in(function.name)) continue;
    for (const char* type : {"f", "d"}) {
      const llvm::StringRef name = function.name;
      std::string mangled = "_Z" + std::to_string(name.size()) + name.str();
      for (int i = 0; i < function.operands; ++i) mangled += i == 1 && integer_operand(name) ? "i" : type;
      llvm::Function* f = module.getFunction(mangled);
      if (!f || f->isDeclaration()) continue;
      f->setName(symbol(name, *type));
      f->setLinkage(llvm::GlobalValue::ExternalLinkage);
      f->setVisibility(llvm::GlobalValue::DefaultVisibility);
    }
  }
}

std::string missing_functions(const llvm::Module& module) {
  std::string missing;
  for (const Function& function : functions)
    for (const char type : {'f', 'd'})
      if (const std::string name = symbol(function.name, type);
          !built_in(function.name) && !module.getFunction(name))
        missing += (missing.empty() ? "" : ", ") + name;
  return missing;
}

}  // namespace weir::mathlib
