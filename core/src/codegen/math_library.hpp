// SPDX-License-Identifier: Apache-2.0
// The portable math library: bitcode made when Weir is built, linked function by function into the code that uses it.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <string_view>

#include "ir/ir.hpp"

namespace weir::codegen {

/// "weir_sin_f32"
std::string math_symbol(std::string_view function, ScalarType type);

/// Links what `module` calls. Throws Error{compile} when a function is missing.
void link_math(llvm::Module& module, bool fast);

}  // namespace weir::codegen
