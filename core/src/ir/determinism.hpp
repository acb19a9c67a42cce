// SPDX-License-Identifier: Apache-2.0
// Atomics whose effect depends on the order of iterations, which Options::deterministic refuses.
#pragma once

#include <vector>

#include "ir/ir.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

/// The atomics of parallel loops, and of blocks whose conflicts are allowed, that may give other results in
/// another order: sums and products of floats, exchanges, used old values, updates of one array by operations
/// that do not commute, and loads and stores of an array that iterations of the same loop update. Each is
/// reported with the remedy. Does not find arguments that share memory, or stores of iterations to one
/// element. Requires a kernel that is valid otherwise.
std::vector<Diagnostic> order_dependences(const Kernel& kernel);

}  // namespace weir::ir
