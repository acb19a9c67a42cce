// SPDX-License-Identifier: Apache-2.0
// The answers of a driver during its trial, as bytes that its process hands to the caller's. `weir info`
// prints them without loading the driver.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/probe.hpp"

namespace weir {

struct Findings {
  std::optional<Refusal> refusal;
  std::optional<DriverIdentity> identity;
  std::vector<weir_device_info> devices;
  std::string layers_problem;  ///< the words of a LayersError; empty when there was none
};

/// At most this many bytes; longer texts are cut.
inline constexpr std::size_t most_findings_bytes = std::size_t{4} << 20;

std::string encode(const Findings& findings);

/// Nothing unless `bytes` are what `encode` returns for some findings. The driver may have overwritten them,
/// so that every length, number and text is checked.
std::optional<Findings> decode_findings(std::string_view bytes);

}  // namespace weir
