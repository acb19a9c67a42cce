// SPDX-License-Identifier: Apache-2.0
// Algorithms of kernels.
#pragma once

#include <span>
#include <weir/algorithms.hpp>

#include "ir/ir.hpp"

namespace weir::algorithms {

/// Calls the function of <weir/algorithms.hpp> that `algorithm` names, and throws as it does. `arrays` are
/// its arrays in the order of its arguments.
void submit(const WorkTarget& target, const ir::Algorithm& algorithm, std::span<const AnyArrayView> arrays);

}  // namespace weir::algorithms
