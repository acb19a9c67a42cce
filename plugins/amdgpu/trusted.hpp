// SPDX-License-Identifier: Apache-2.0
// Features of HIP that are known to fail, according to reports and its source. Each function returns the
// reason for not using a feature, which `weir info` shows, or "" if it can be used.
#pragma once

#include <string>
#include <string_view>

namespace weir::amdgpu {

constexpr int hip_version(int major, int minor) noexcept {
  return major * 10'000'000 + minor * 100'000;
}

/// Stream-ordered memory. `functions`: the library has them; `pools`: the device reports memory pools.
inline std::string why_no_pools(int version, std::string_view architecture, bool functions, bool pools) {
  const std::string_view processor = architecture.substr(0, architecture.find(':'));
  const bool radeon = processor.starts_with("gfx10") || processor.starts_with("gfx11");
  if (!functions) return "the library lacks functions of stream-ordered allocation";
  // hipFreeAsync and launches of two threads deadlock in 5.6 to 6.0; fixed in the summer of 2024.
  if (version < hip_version(6, 2)) return "hipFreeAsync of HIP before 6.2 can hang with several threads";
  if (!pools) return "the device has no memory pools";
  // The device reports pools, and hipMallocAsync never returns.
  if (processor == "gfx90c") return "hipMallocAsync hangs on gfx90c";
  // Crashes, spurious out-of-memory errors and memory that reads as zeros, on gfx1030, gfx1100 and gfx1101.
  if (version >= hip_version(7, 0) && radeon)
    return "hipMallocAsync of HIP 7 fails on " + std::string(processor);
  return "";
}

/// Graphs. `functions`: the library has them.
inline std::string why_no_graphs(int version, bool functions) {
  if (!functions) return "HIP lacks functions for them";
  // Before 6.2, nodes of branches are submitted to the launch's stream instead of their own. In 6.2, the end
  // of a graph that runs on two streams is recorded for the last stream only.
  if (version < hip_version(6, 3)) return "HIP before 6.3 runs branches of graphs out of order";
  return "";
}

}  // namespace weir::amdgpu
