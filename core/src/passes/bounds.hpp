// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "passes/draft.hpp"
#include "passes/plan.hpp"

namespace weir::passes {

/// Determines the loop bounds that the host can compute before a launch.
class Bounds {
 public:
  Bounds(const Draft& draft, std::vector<HostExpression>& expressions)
      : draft_(draft), expressions_(expressions) {}

  /// A value that is defined outside of loops.
  HostBound bound(ir::ValueId id);

  /// The space of a loop: low0 high0 low1 high1 ..., values that are defined outside of loops.
  LoopBounds describe(const std::vector<ir::ValueId>& bounds);

 private:
  HostBound expression(ir::ValueId id);

  const Draft& draft_;
  std::vector<HostExpression>& expressions_;
  std::unordered_map<ir::ValueId, HostBound> known_;
};

}  // namespace weir::passes
