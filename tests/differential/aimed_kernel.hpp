// SPDX-License-Identifier: Apache-2.0
// Kernels that are made for one pair of lowering path and statement kind, with more of both beside it.
#pragma once

#include "coverage.hpp"

namespace weir::test {

/// A kernel of a few loops, one of which is made for `aim`; the others are made for pairs from `others`.
RunnableKernel aimed_kernel(const Aim& aim, const std::vector<Aim>& others, Choices& choices);

}  // namespace weir::test
