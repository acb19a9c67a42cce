// SPDX-License-Identifier: Apache-2.0
// Choice of a device by name, by environment, or by rank.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/codegen.hpp"
#include "driver/registry.hpp"
#include "folder_names.hpp"
#include "foreign_text.hpp"
#include "near_words.hpp"
#include "runtime/devices/device_state.hpp"

namespace weir {
namespace {

std::string devices_of(const Candidate& candidate) {
  const std::size_t count = candidate.devices.size();
  return fmt::format("{} device{}", count, count == 1 ? "" : "s");
}

std::string driver_report() {
  std::string text;
  for (const Candidate& candidate : drivers()) {
    text += fmt::format("\n  {}: {}", candidate.name, to_string(candidate.status));
    if (!candidate.reason.empty()) text += fmt::format(": {}", candidate.reason);
    if (!candidate.remedy.empty() && !candidate.remedy.starts_with("nothing"))
      text += fmt::format("; remedy: {}", candidate.remedy);
    if (candidate.status == DriverStatus::usable) text += " (" + devices_of(candidate) + ")";
  }
  if (text.empty()) {
    text = "\n  no driver was found in:";
    for (const auto& folder : driver_search_path()) text += "\n    " + folder.string();
  }
  for (const auto& folder : driver_search_path())
    if (const std::string why = why_unreadable(folder); why.starts_with("cannot"))
      text += fmt::format("\n  {} {}", folder.string(), why);
  for (const SearchFolder& folder : driver_search_folders())
    if (!folder.ignored.empty() && folder.origin == SearchOrigin::environment)
      text += fmt::format("\n  ignored: {} of {}: {}", folder.path.string(), to_string(folder.origin),
                          folder.ignored);
  return text;
}

// "; did you mean 'cpu:1'?" if a driver has a similar name, else ".". The report says why one is not usable.
std::string near_devices(std::string_view driver, std::string_view index) {
  std::vector<std::string> others;
  for (const Candidate& candidate : drivers())
    if (candidate.name != driver) others.push_back(candidate.name);
  std::string text;
  for (const std::string& name : near_words(driver, others))
    text += fmt::format("{}'{}{}'", text.empty() ? "" : " or ", name, index);
  return text.empty() ? "." : fmt::format("; did you mean {}?", text);
}

/// Devices that kernels can be compiled for come before all others, such as those of a driver that is still
/// being written. Drivers of one rank are taken in the order in which they were found.
int preference(const weir_device_info& device) {
  int rank = 0;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(device.code_target_count, WEIR_MAX_CODE_TARGETS); ++i)
    if (codegen::generates(device.code_targets[i].format)) rank = 4;
  switch (device.kind) {
    case WEIR_DEVICE_DISCRETE:
      return rank + 3;
    case WEIR_DEVICE_INTEGRATED:
      return rank + 2;
    case WEIR_DEVICE_OTHER:
      return rank + 1;
    default:
      return rank;
  }
}

Device open_named(std::string_view name, std::string_view origin) {
  const std::size_t colon = name.find(':');
  const std::string_view driver = name.substr(0, colon);
  const std::string shown = without_control_characters(name);
  std::uint32_t index = 0;
  if (colon != std::string_view::npos) {
    const std::string_view number = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || end != number.data() + number.size() || number.empty())
      throw Error(ErrorCode::invalid,
                  fmt::format("device name '{}'{}: expected a number from 0 to {} after ':', as in \"cpu:1\"",
                              shown, origin, UINT32_MAX));
  }
  if (driver.empty())
    throw Error(ErrorCode::invalid,
                fmt::format("device name '{}'{}: expected a driver's name, as in \"cpu\" or \"cpu:1\"", shown,
                            origin));
  if (const Candidate* candidate = find_driver(driver)) {
    if (index < candidate->devices.size())
      return Device(&detail::device_state(*candidate->driver, index, candidate->devices[index]));
    throw Error(ErrorCode::no_device, fmt::format("no device '{}'{}: driver {} has {}, numbered from 0",
                                                  shown, origin, driver, devices_of(*candidate)));
  }
  throw Error(ErrorCode::no_device,
              fmt::format("no device '{}'{}: no usable driver has that name{} The drivers are:{}", shown,
                          origin, near_devices(driver, name.substr(driver.size())), driver_report()));
}

}  // namespace

std::vector<Device> devices() try {
  std::vector<Device> result;
  for (const Candidate& candidate : drivers())
    if (candidate.status == DriverStatus::usable)
      for (std::uint32_t i = 0; i < candidate.devices.size(); ++i)
        result.emplace_back(&detail::device_state(*candidate.driver, i, candidate.devices[i]));
  return result;
} catch (...) {
  detail::rethrow_as_error();
}

Device open() try {
  if (const char* name = secure_getenv("WEIR_DEVICE"); name && *name)
    return open_named(name, " (from WEIR_DEVICE)");
  const Candidate* best = nullptr;
  std::uint32_t best_index = 0;
  for (const Candidate& candidate : drivers()) {
    // Its devices are unknown, and one of them might be the best.
    if (candidate.status == DriverStatus::wrong_setting)
      throw Error(ErrorCode::invalid,
                  fmt::format("driver {}: {}; correct the setting, or name a device of another driver in "
                              "WEIR_DEVICE",
                              candidate.name, candidate.reason));
    if (candidate.status != DriverStatus::usable) continue;
    for (std::uint32_t i = 0; i < candidate.devices.size(); ++i)
      if (!best || preference(candidate.devices[i]) > preference(best->devices[best_index])) {
        best = &candidate;
        best_index = i;
      }
  }
  if (!best) throw Error(ErrorCode::no_device, "no device is present. The drivers are:" + driver_report());
  return Device(&detail::device_state(*best->driver, best_index, best->devices[best_index]));
} catch (...) {
  detail::rethrow_as_error();
}

Device open(std::string_view name) try { return open_named(name, ""); } catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
