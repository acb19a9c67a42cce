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

  /// Fills rank, low and high from a `parallel` or `reduce` of the kernel.
  void describe(const ir::Statement& loop, PlannedTask& planned);

 private:
  HostBound bound(ir::ValueId id);
  HostBound expression(ir::ValueId id);

  const Draft& draft_;
  std::vector<HostExpression>& expressions_;
  std::unordered_map<ir::ValueId, HostBound> known_;
};

}  // namespace weir::passes
