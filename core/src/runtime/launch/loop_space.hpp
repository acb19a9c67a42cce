// SPDX-License-Identifier: Apache-2.0
// Iterations of a task's loop, if the host can compute them before the launch.
#pragma once

#include <cstdint>

#include "passes/plan.hpp"

namespace weir::detail {

struct LaunchValues;

struct LoopSpace {
  static constexpr std::uint64_t max_count =
      ~std::uint64_t{0} >> 1;  ///< largest number of iterations of a loop

  std::uint64_t count = 1;  ///< iterations, if `known`; `max_count + 1` for any larger number
  bool known = true;        ///< false if the device computes a bound, unless the loop is empty anyway
  bool index32 = true;      ///< meets codegen::LaunchAssumptions::index32; also true for empty loops
};

/// Whether the host can compute the loop's bounds in dimension `d` before the launch.
inline bool has_host_bounds(const passes::LoopBounds& loop, std::uint8_t d) noexcept {
  using Kind = passes::HostBound::Kind;
  return loop.low[d].kind != Kind::device && loop.high[d].kind != Kind::device;
}

std::int64_t evaluate(const passes::HostBound& bound, const passes::Plan& plan,
                      const LaunchValues& values) noexcept;

LoopSpace loop_space(const passes::Plan& plan, const passes::LoopBounds& loop,
                     const LaunchValues& values) noexcept;

/// The number of times that the host submits the tasks of a repeat in this launch, and in the current
/// repetition of those around it; never negative.
std::int64_t repetition_count(const passes::Plan& plan, const passes::PlannedRepeat& repeat,
                              const LaunchValues& values) noexcept;

}  // namespace weir::detail
