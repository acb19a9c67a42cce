// SPDX-License-Identifier: Apache-2.0
// Code generation without a device, for explanations too.
#pragma once

#include <vector>
#include <weir/compile.hpp>

#include "codegen/codegen.hpp"
#include "passes/plan.hpp"

namespace weir::detail {

std::vector<const ir::Task*> tasks_of(const passes::Plan& plan);

/// Throws Error{invalid} for words that are no assumptions.
codegen::Target target_of(const CompileTarget& target);

}  // namespace weir::detail
