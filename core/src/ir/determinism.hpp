// SPDX-License-Identifier: Apache-2.0
// Atomics whose effect depends on the order of iterations, which Options::deterministic refuses.
#pragma once

#include <vector>

#include "ir/ir.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

/// Reports the atomics of parallel loops, and of blocks whose conflicts are allowed, whose results depend on
/// the order. These are sums and products of floats, exchanges, used old values, and updates of one array by
/// operations that do not commute. Loads and stores of an array that iterations of the same loop update are
/// reported too. Each report has the remedy. Does not find arguments that share memory, or stores of
/// iterations to one element. Requires a kernel that is valid otherwise.
std::vector<Diagnostic> order_dependences(const Kernel& kernel);

}  // namespace weir::ir
