// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir::demo {

/// How many cells have water of a depth in [from, to), metres.
struct DepthClass {
  float from, to;
  double cells;
  friend bool operator==(const DepthClass&, const DepthClass&) = default;
};

}  // namespace weir::demo
