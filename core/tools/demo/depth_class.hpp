// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir::demo {

/// Number of cells with a water depth in [from, to), metres.
struct DepthClass {
  float from, to;
  double cells;
  friend bool operator==(const DepthClass&, const DepthClass&) = default;
};

}  // namespace weir::demo
