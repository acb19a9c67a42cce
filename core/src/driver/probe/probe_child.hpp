// SPDX-License-Identifier: Apache-2.0
// Starts weir-probe, which tries a driver in a separate process, so that a crash, a hang or an exit is
// harmless.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "descriptor.hpp"
#include "driver/probe/findings.hpp"
#include "driver/probe/probe_outcome.hpp"

namespace weir {

/// The first line that weir-probe writes, before it loads the driver, with the version of the report's
/// format. The outcome follows as a line of text, then the size of the findings in bytes as a line, then the
/// findings.
inline constexpr std::string_view probe_greeting = "weir-probe 4";
/// The descriptor that weir-probe writes to.
inline constexpr int probe_report_descriptor = 3;

/// `admit` opens a device and waits for the driver's threads. `inspect` also applies the wanted layers.
/// `describe` only queries the devices and applies the layers: for a driver whose verdict is known.
enum class TrialKind : std::uint8_t { admit, inspect, describe };
std::string_view to_string(TrialKind kind);
std::optional<TrialKind> trial_kind_of(std::string_view word);

struct ProbeRun {
  std::optional<ProbeOutcome> outcome;
  std::optional<Findings> findings;  ///< of a completed trial
  std::string failure;  ///< why there is no outcome: the helper did not start or has another version
};

/// A running weir-probe, which tries one driver. Several may run at the same time. No process of the driver
/// outlives it, even when this process is killed. The driver does not share the standard streams. Works in
/// processes with threads and in processes that reap their own children.
class ProbeChild {
 public:
  /// Starts `helper` on the driver of `manifest` with the time limit `limit`. Does not block.
  ProbeChild(const std::filesystem::path& helper, const std::filesystem::path& manifest,
             std::chrono::milliseconds limit, TrialKind kind);
  ProbeChild(const ProbeChild&) = delete;
  ProbeChild& operator=(const ProbeChild&) = delete;
  /// Kills the process unless wait has returned.
  ~ProbeChild();

  /// Blocks until the process has ended. Must be called at most once.
  ProbeRun wait();

 private:
  void end();

  Descriptor report_{-1};
  pid_t process_ = -1;
  std::chrono::steady_clock::time_point until_;
  std::string failure_;  // why it could not be started
};

}  // namespace weir
