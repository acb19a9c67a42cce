// SPDX-License-Identifier: Apache-2.0
// Starts weir-probe, which tries a driver where a crash, a hang or an exit harms nobody.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "driver/descriptor.hpp"
#include "driver/findings.hpp"
#include "driver/probe_outcome.hpp"

namespace weir {

/// The first line that weir-probe writes, before it touches the driver, with the version of the report's
/// format. The outcome follows as a line of text, then the number of bytes of the findings as a line, then
/// these bytes.
inline constexpr std::string_view probe_greeting = "weir-probe 3";
/// The descriptor that weir-probe writes to.
inline constexpr int probe_report_descriptor = 3;

/// `admit` opens a device and waits for the driver's threads. `inspect` also puts the wanted layers around
/// the driver. `describe` only asks for the devices and puts the layers on: for a driver whose verdict is
/// known.
enum class TrialKind : std::uint8_t { admit, inspect, describe };
std::string_view to_string(TrialKind kind);
std::optional<TrialKind> trial_kind_of(std::string_view word);

struct ProbeRun {
  std::optional<ProbeOutcome> outcome;
  std::optional<Findings> findings;  ///< of a completed trial
  std::string failure;  ///< why there is no outcome: the helper could not be started, or is another version's
};

/// A running weir-probe, which tries one driver. Several may run at the same time. No process of the driver's
/// outlives it, also when this process is killed. Standard streams are not shared with the driver. Works in
/// processes with threads and in those that reap children of their own.
class ProbeChild {
 public:
  /// Starts `helper` on the driver of `manifest`, which may take `limit`. Does not block.
  ProbeChild(const std::filesystem::path& helper, const std::filesystem::path& manifest,
             std::chrono::milliseconds limit, TrialKind kind);
  ProbeChild(const ProbeChild&) = delete;
  ProbeChild& operator=(const ProbeChild&) = delete;
  /// Kills it unless it was waited for.
  ~ProbeChild();

  /// Blocks until it has ended. Must be called at most once.
  ProbeRun wait();

 private:
  void end();

  Descriptor report_{-1};
  pid_t process_ = -1;
  std::chrono::steady_clock::time_point until_;
  std::string failure_;  // why it could not be started
};

}  // namespace weir
