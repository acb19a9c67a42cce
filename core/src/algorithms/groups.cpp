// SPDX-License-Identifier: Apache-2.0
#include "algorithms/groups.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "driver/environment.hpp"

namespace weir::algorithms {
namespace {

/// More groups than a multiprocessor runs at a time, so that those which end early make room for others.
constexpr std::uint64_t ranges_per_multiprocessor = 16;

std::optional<std::uint64_t> wanted_groups() {
  constexpr const char* name = "WEIR_ALGORITHM_GROUPS";
  const std::string text = secure_environment(name);
  if (text.empty()) return std::nullopt;
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count == 0 || count > max_ranges)
    refuse_environment(name, text, "a number from 1 to " + std::to_string(max_ranges));
  return count;
}

const std::optional<std::uint64_t>& forced_groups() {
  static const std::optional<std::uint64_t> groups = wanted_groups();
  return groups;
}

}  // namespace

bool uses_groups(const Device& device) {
  if (forced_groups()) return true;
  const DeviceInfo& info = device.info();
  return info.kind != DeviceKind::cpu && info.max_block_threads >= group_size &&
         info.max_shared_bytes >= max_group_bytes;
}

Chunks group_ranges(const Device& device, std::uint64_t elements, std::int64_t tile) {
  const std::uint64_t units = std::max(device.info().multiprocessors, 1u);
  const std::uint64_t max_groups =
      std::min(forced_groups().value_or(units * ranges_per_multiprocessor), max_ranges);
  const auto size = static_cast<std::uint64_t>(tile);
  const std::uint64_t tiles = (elements + size - 1) / size;
  const std::uint64_t range = (tiles + max_groups - 1) / max_groups * size;
  return {static_cast<std::int64_t>(range), static_cast<std::int64_t>((elements + range - 1) / range)};
}

}  // namespace weir::algorithms
