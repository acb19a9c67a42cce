// SPDX-License-Identifier: Apache-2.0
// The iterations of a task's loop, as far as the host can compute them before the launch.
#pragma once

#include <cstdint>

#include "passes/plan.hpp"

namespace weir::detail {

struct LaunchValues;

struct LoopSpace {
  static constexpr std::uint64_t most = ~std::uint64_t{0} >> 1;  ///< what a loop may have

  std::uint64_t count = 1;  ///< iterations, where `known`; `most + 1` for any number beyond `most`
  bool known = true;        ///< false when a bound is decided on the device, unless the loop is empty anyway
  bool index32 = true;      ///< meets codegen::LaunchAssumptions::index32; empty loops too
};

LoopSpace loop_space(const passes::Plan& plan, const passes::PlannedTask& task,
                     const LaunchValues& values) noexcept;

}  // namespace weir::detail
