// SPDX-License-Identifier: Apache-2.0
// Launches with strided arrays. The kernel for them (passes/place_strided.hpp) takes, in place of such an
// array, the scalars that it reaches as a contiguous array, and its extents and strides as one more argument.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <span>
#include <vector>
#include <weir/array.hpp>

#include "runtime/programs/program_state.hpp"

namespace weir::detail {

inline bool has_strided(std::span<const LaunchArgument> arguments) noexcept {
  return std::ranges::any_of(
      arguments, [](const LaunchArgument& given) { return given.array && !given.array->contiguous(); });
}

/// In the order of the arguments.
std::vector<StridedParameter> strided_parameters(std::span<const LaunchArgument> arguments);

/// The arguments of a launch of the kernel for strided arrays, those of `strided`.
class DenseArguments {
 public:
  /// Refers to `given`, whose arguments must have the types of `strided`. They may be contiguous.
  DenseArguments(std::span<const LaunchArgument> given, std::span<const StridedParameter> strided);
  DenseArguments(const DenseArguments&) = delete;
  DenseArguments& operator=(const DenseArguments&) = delete;

  std::span<const LaunchArgument> all() const noexcept { return all_; }

 private:
  std::deque<AnyArrayView> views_;  // arguments point to them
  std::deque<std::array<std::int64_t, 1 + 2 * max_rank>> numbers_;
  std::vector<LaunchArgument> all_;
};

}  // namespace weir::detail
