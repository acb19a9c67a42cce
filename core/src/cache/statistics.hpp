// SPDX-License-Identifier: Apache-2.0
// Counts of events in a cache, over all processes. Approximate: counts of a process that ends while others
// write, and of crashed machines, are lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <weir/export.hpp>

namespace weir::cache {

struct Statistics {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t evictions = 0;
  std::uint64_t saved_microseconds = 0;  ///< of code generation, by hits

  friend bool operator==(const Statistics&, const Statistics&) = default;
  Statistics& operator+=(const Statistics& more) noexcept;
};

/// The counts in `folder`; all 0 when there are none.
WEIR_API Statistics read_statistics(const std::filesystem::path& folder) noexcept;
/// Adds `more` to the file in `folder`, unless another process is writing it; returns whether it did. Never
/// waits.
bool add_statistics(const std::filesystem::path& folder, const Statistics& more) noexcept;

inline constexpr const char* statistics_name = "weir-statistics";

}  // namespace weir::cache
