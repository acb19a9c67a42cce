// SPDX-License-Identifier: Apache-2.0
// Examines one candidate, from its manifest to a checked driver with its devices or to the reason for its
// refusal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "driver/probe/probe_outcome.hpp"
#include "driver/registry.hpp"

namespace weir {

/// Why a candidate is not usable; thrown by the steps of a probe.
struct Refusal {
  DriverStatus status;
  std::string reason;
  std::string remedy;
};

/// Reads the manifest, checks who may write it, its architecture and its ABI range, and fills `candidate`
/// from it. The library is not touched. Refuses a plugin of another kind than `expected`. Throws Refusal.
struct Manifest;
Manifest check_manifest(Candidate& candidate, std::optional<PluginKind> expected = std::nullopt);

/// Checks that the library exists, who may write it and its architecture, without loading it. Throws Refusal.
void check_library(const Candidate& candidate);

/// Loads the library that `manifest` names, takes its table and queries the devices of a driver or the
/// description of a communicator. Calls `begins` before each step. Throws Refusal.
void load_plugin(Candidate& candidate, const Manifest& manifest,
                 const std::function<void(ProbeStep)>& begins = {});

/// Opens the first device and closes it, for a trial. Failing to open it is no fault, because another process
/// may hold the device or memory may be short. Throws Refusal when a call throws.
void open_and_close(const GpuDriver& driver, const std::function<void(ProbeStep)>& begins);

/// Puts the wanted layers around the driver of `candidate`. Throws LayersError.
void add_layers(Candidate& candidate);

/// The limit of a driver's devices; a driver with more is refused.
inline constexpr std::uint32_t max_driver_devices = 1024;

/// Terminates every text of `info` inside its array.
void terminate_texts(weir_device_info& info);

}  // namespace weir
