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
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  ir::Kernel kernel;
  std::vector<std::vector<std::int64_t>> extents;  ///< by parameter; empty for scalars
  /// Parameters whose arrays begin one element (of several dimensions: one row) into their memory.
  std::vector<std::uint32_t> shifted{};
  /// An array parameter that no statement touches, in the memory of the parameter `shadowed`.
  std::uint32_t shadow = none, shadowed = none;
};

RunnableKernel runnable_kernel(Choices& choices);

}  // namespace weir::test
