// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/verifier.hpp"
#include "passes/draft.hpp"
#include "passes/plan.hpp"

namespace weir::passes {

/// Rejects regions in which one stream block writes memory that a sibling uses: throws Error{kernel} with
/// both lines. Stream blocks may use one array if the dependence analysis proves that they use different
/// parts of it; those arrays are noted in draft.divided. Whether two parameters alias is checked at launch,
/// from `checks`. Eliminated stream blocks cannot conflict.
void find_conflicts(Draft& draft, std::vector<AliasCheck>& checks);

/// Throws Error{kernel} with the diagnostics, preceded by the kernel's name and first line.
[[noreturn]] void refuse_kernel(const ir::Kernel& kernel, const std::vector<ir::Diagnostic>& diagnostics);

/// Accesses to each parameter in the kernel as written.
std::vector<ParameterUse> find_uses(const ir::Kernel& kernel);

}  // namespace weir::passes
