// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "choices.hpp"
#include "ir/ir.hpp"

namespace weir::test {

/// A kernel that satisfies all rules of the verifier and covers the whole IR: types, operations, nesting,
/// regions.
ir::Kernel random_kernel(Choices& choices);

/// The same kernel with different value, local and string ids.
ir::Kernel renumbered(ir::Kernel kernel, Choices& choices);

}  // namespace weir::test
