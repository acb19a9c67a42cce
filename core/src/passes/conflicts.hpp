// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/draft.hpp"
#include "passes/plan.hpp"

namespace weir::passes {

/// Refuses regions in which one block writes what a sibling touches: throws Error{kernel} naming both lines.
/// What only a launch can tell, two parameters being the same memory, goes into `checks`. Blocks that
/// disappear cannot conflict.
void find_conflicts(const Draft& draft, std::vector<AliasCheck>& checks);

/// What the kernel as written does to each parameter.
std::vector<ParameterUse> find_uses(const ir::Kernel& kernel);

}  // namespace weir::passes
