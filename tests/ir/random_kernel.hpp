// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "choices.hpp"
#include "ir/ir.hpp"

namespace weir::test {

/// A kernel that keeps every rule of the verifier and uses all of the IR: types, operations, nesting,
/// regions.
ir::Kernel random_kernel(Choices& choices);

/// The same kernel with other value, local and string ids.
ir::Kernel renumbered(ir::Kernel kernel, Choices& choices);

}  // namespace weir::test
