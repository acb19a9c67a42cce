// SPDX-License-Identifier: Apache-2.0
// Kernels generated for one pair of lowering path and statement kind, with further paths and kinds added.
#pragma once

#include "coverage.hpp"

namespace weir::test {

/// A kernel of a few loops, one of which is generated for `aim`, the others for pairs from `others`.
RunnableKernel aimed_kernel(const Aim& aim, const std::vector<Aim>& others, Choices& choices);

}  // namespace weir::test
