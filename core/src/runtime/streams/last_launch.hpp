// SPDX-License-Identifier: Apache-2.0
// A stream's report of its last launch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <weir/launch_report.hpp>

namespace weir::detail {

/// Holds a LaunchReport in one word, so that launches of several threads neither wait nor mix their reports.
/// Counts above 2^27 - 1 are stored as that number.
class LastLaunch {
 public:
  void set(const LaunchReport& report) noexcept {
    const auto field = [](std::uint32_t count) { return std::uint64_t{std::min(count, max_count)}; };
    word_.store(static_cast<std::uint64_t>(report.why_no_graph) | std::uint64_t{report.built} << 8 |
                    field(report.nodes) << 9 | field(report.updated) << 36,
                std::memory_order_relaxed);
  }
  LaunchReport get() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    return {static_cast<WhyNoGraph>(word & 0xff), static_cast<std::uint32_t>(word >> 9) & max_count,
            static_cast<std::uint32_t>(word >> 36) & max_count, (word >> 8 & 1) != 0};
  }

 private:
  static constexpr std::uint32_t max_count = (1u << 27) - 1;
  std::atomic<std::uint64_t> word_{static_cast<std::uint64_t>(WhyNoGraph::no_launch)};
};

}  // namespace weir::detail
