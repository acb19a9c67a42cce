// SPDX-License-Identifier: Apache-2.0
#include "codegen/mathlib/mathlib.hpp"

namespace weir::mathlib {

void add_own_functions(llvm::Module&) {}

}  // namespace weir::mathlib
