// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "choices.hpp"
#include "ir/ir.hpp"

namespace weir::test {

/// A kernel and the shapes of its arrays, made so that a launch has one meaning to the bit: no races, no
/// index outside an array unless bounds are checked, and no way to see which NaN a NaN is.
struct RunnableKernel {
  ir::Kernel kernel;
  std::vector<std::vector<std::int64_t>> extents;  ///< by parameter; empty for scalars
};

RunnableKernel runnable_kernel(Choices& choices);

}  // namespace weir::test
