// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

/// Lowers a group loop that ir::split_group has split: a block, or on devices without threads() the caller,
/// runs a share of the groups.
void lower_group_loop(TaskFunction& f, const Iteration& around, const ir::Statement& loop);

}  // namespace weir::codegen
