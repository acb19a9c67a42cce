// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "choices.hpp"
#include "ir/ir.hpp"

namespace weir::test {

/// A kernel and the shapes of its arrays, generated so that a launch has one meaning to the bit. It has no
/// races and no index outside an array unless bounds are checked, and its results do not depend on which NaN
/// a NaN is.
struct RunnableKernel {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  ir::Kernel kernel;
  std::vector<std::vector<std::int64_t>> extents;  ///< by parameter; empty for scalars
  /// Parameters whose arrays begin one element (in several dimensions: one row) after the begin of their
  /// memory.
  std::vector<std::uint32_t> shifted{};
  /// An array parameter that no statement accesses, in the memory of the parameter `shadowed`.
  std::uint32_t shadow = none, shadowed = none;
  /// By parameter, unless empty: the array parameter of the same type and extents whose memory it is, or
  /// itself.
  std::vector<std::uint32_t> memory{};

  bool has_own_memory(std::uint32_t p) const { return p != shadow && (memory.empty() || memory[p] == p); }
};

RunnableKernel runnable_kernel(Choices& choices);

}  // namespace weir::test
