// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/draft.hpp"
#include "passes/plan.hpp"

namespace weir::passes {

/// Rejects regions in which one block writes memory that a sibling uses: throws Error{kernel} with both
/// lines. Whether two parameters alias is checked at launch, from `checks`. Eliminated blocks cannot
/// conflict.
void find_conflicts(const Draft& draft, std::vector<AliasCheck>& checks);

/// Accesses to each parameter in the kernel as written.
std::vector<ParameterUse> find_uses(const ir::Kernel& kernel);

}  // namespace weir::passes
