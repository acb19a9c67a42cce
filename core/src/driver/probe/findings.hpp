// SPDX-License-Identifier: Apache-2.0
// The answers of a driver during its trial, as bytes that the trial's process passes to the caller's process.
// `weir info` prints them without loading the driver.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/probe/probe.hpp"

namespace weir {

struct Findings {
  std::optional<Refusal> refusal;
  std::optional<DriverIdentity> identity;
  std::vector<weir_device_info> devices;
  std::optional<weir_communicator_info> communicator;
  std::string layers_problem;  ///< the message of a LayersError; empty when there was none
};

/// The limit of encoded findings; longer texts are truncated.
inline constexpr std::size_t max_findings_bytes = std::size_t{4} << 20;

std::string encode(const Findings& findings);

/// Returns nothing unless `encode` can produce `bytes`. Checks every length, number and text, because the
/// driver may have overwritten them.
std::optional<Findings> decode_findings(std::string_view bytes);

}  // namespace weir
