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
  if (error != std::errc() || end != text.data() + text.size() || count > max_ranges)
    refuse_environment(name, text, "a number from 0 to " + std::to_string(max_ranges));
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

bool groups_may_wait(const Device& device) {
  const DeviceInfo& info = device.info();
  const auto runs_groups_to_their_end = [](const CodeTarget& code) {
    return code.format.starts_with("elf") || code.format == "ptx" || code.format == "hsaco";
  };
  return forced_groups().value_or(0) == 0 && info.max_shared_bytes >= max_waiting_group_bytes &&
         std::ranges::any_of(info.code_targets, runs_groups_to_their_end);
}

Chunks group_ranges(const Device& device, std::uint64_t elements, std::int64_t tile) {
  const std::uint64_t units = std::max(device.info().multiprocessors, 1u);
  const std::uint64_t max_groups = std::min(
      forced_groups().value_or(0) ? *forced_groups() : units * ranges_per_multiprocessor, max_ranges);
  const auto size = static_cast<std::uint64_t>(tile);
  const std::uint64_t tiles = (elements + size - 1) / size;
  const std::uint64_t range = (tiles + max_groups - 1) / max_groups * size;
  return {static_cast<std::int64_t>(range), static_cast<std::int64_t>((elements + range - 1) / range)};
}

}  // namespace weir::algorithms
