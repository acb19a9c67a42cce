// SPDX-License-Identifier: Apache-2.0
// What became of each requirement, and of a run as a whole.
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
  expected_failure,  ///< failed, and the driver's expectations say why
  unexpected_pass,   ///< passed, though the driver's expectations say that it fails
  unsupported,       ///< needs what the device does not offer
  skipped            ///< could not be run here, whatever the driver offers
};
inline constexpr std::size_t outcome_count = 6;
std::string_view to_string(Outcome outcome);

struct Result {
  const Requirement* requirement = nullptr;
  Outcome outcome = Outcome::failed;
  double milliseconds = 0;
  std::string message;  ///< why it failed, is unsupported or was skipped
  std::string reason;   ///< of the expectation, if there is one
};

using Counts = std::array<std::size_t, outcome_count>;

/// Everything that the reports show.
struct Run {
  nlohmann::json driver;  ///< name, version, vendor, abi, library, sha256; error, exit, wrote and no_device
                          ///< where there is one
  nlohmann::json device;  ///< empty when none could be opened
  std::uint32_t devices = 0;  ///< that the driver counts; 0 when it did not answer
  nlohmann::json calls;   ///< slot -> result -> count
  std::string layer_refusal;  ///< what kept the layer from being put over the driver
  std::string started;    ///< ISO 8601, UTC
  double seconds = 0;
  std::vector<Result> results;

  Counts counts() const;
  Counts counts(int level) const;
  /// Passed, failed or failed as expected: what really ran.
  std::size_t executed() const;
  /// True when something passed, nothing failed but what was expected to, every process ended by itself, the
  /// driver wrote nothing into them, and there was a device where one was needed.
  bool good() const;
  /// True when there was no device for requirements above level 0, of which nothing can be told then.
  bool lacked_a_device() const;
  /// "cpu conforms", "cpu conforms but for 2 expected failures" or "cpu does not conform".
  std::string verdict() const;
};

inline std::size_t count_of(const Counts& counts, Outcome outcome) {
  return counts[static_cast<std::size_t>(outcome)];
}

}  // namespace weir::conformance
