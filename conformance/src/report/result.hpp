// SPDX-License-Identifier: Apache-2.0
// The outcome of each requirement, and of a run as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "requirement.hpp"

namespace weir::conformance {

enum class Outcome {
  passed,
  failed,
  expected_failure,  ///< failed; listed in the expectations with a reason
  unexpected_pass,   ///< passed, though listed as a failure in the expectations
  unsupported,       ///< needs a feature that the device does not offer
  skipped            ///< cannot run on this machine, regardless of the driver
};
inline constexpr std::size_t outcome_count = 6;
std::string_view to_string(Outcome outcome);

struct Result {
  const Requirement* requirement = nullptr;
  Outcome outcome = Outcome::failed;
  double milliseconds = 0;
  std::string message;  ///< the cause of a failure, or of not running
  std::string reason;   ///< of the matching expectation, if there is one
};

using Counts = std::array<std::size_t, outcome_count>;

/// The data of all reports.
struct Run {
  /// name, version, vendor, abi, library, sha256; if they apply also error, exit, wrote and no_device.
  nlohmann::json driver;
  nlohmann::json device;      ///< empty if no device could be opened
  std::uint32_t devices = 0;  ///< as device_count returned it; 0 if it failed
  nlohmann::json calls;       ///< slot -> result -> count
  std::string layer_refusal;  ///< why the layer could not be loaded over the driver
  std::string started;        ///< ISO 8601, UTC
  double seconds = 0;
  std::vector<Result> results;

  Counts counts() const;
  Counts counts(int level) const;
  /// The number of requirements that ran: passed, failed or failed as expected.
  std::size_t executed() const;
  /// True if something passed, every failure was expected, every process exited normally, the driver wrote
  /// nothing to foreign descriptors, and a device existed where one was needed.
  bool good() const;
  /// True if requirements above level 0 were selected and no device existed, so they are undecided.
  bool lacked_a_device() const;
  /// "cpu conforms", "cpu conforms but for 2 expected failures" or "cpu does not conform".
  std::string verdict() const;
  /// "levels 0 to 3": those of which requirements were met; "" if none was.
  std::string levels_met() const;
};

inline std::size_t count_of(const Counts& counts, Outcome outcome) {
  return counts[static_cast<std::size_t>(outcome)];
}

}  // namespace weir::conformance
