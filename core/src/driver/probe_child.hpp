// SPDX-License-Identifier: Apache-2.0
// Starts weir-probe, which tries a driver where a crash, a hang or an exit harms nobody.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "driver/descriptor.hpp"
#include "driver/probe_outcome.hpp"

namespace weir {

/// The first line that weir-probe writes, before it touches the driver; the number is that of what follows.
inline constexpr std::string_view probe_greeting = "weir-probe 2";
/// The descriptor that weir-probe writes to.
inline constexpr int probe_report_descriptor = 3;

struct ProbeRun {
  std::optional<ProbeOutcome> outcome;
  std::string failure;  ///< why there is no outcome: the helper could not be started, or is another version's
};

/// weir-probe at work on one driver. Several may be at work at once. Leaves no process behind, nor one that
/// it started when this process is killed. Standard streams are not shared with the driver. Works in
/// processes with threads and in those that reap children of their own.
class ProbeChild {
 public:
  /// Starts `helper` on the driver of `manifest`, which may take `limit` from now on. Does not block.
  ProbeChild(const std::filesystem::path& helper, const std::filesystem::path& manifest,
             std::chrono::milliseconds limit);
  ProbeChild(const ProbeChild&) = delete;
  ProbeChild& operator=(const ProbeChild&) = delete;
  /// Kills it unless it was waited for.
  ~ProbeChild();

  /// Blocks until it has ended. To be called once.
  ProbeRun wait();

 private:
  Descriptor report_{-1};
  pid_t process_ = -1;
  std::chrono::steady_clock::time_point until_;
  std::string failure_;  // why it could not be started
};

}  // namespace weir
