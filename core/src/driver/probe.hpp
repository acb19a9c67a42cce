// SPDX-License-Identifier: Apache-2.0
// Takes one candidate from its manifest to a checked driver with its devices, or to the reason why not.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "driver/probe_outcome.hpp"
#include "driver/registry.hpp"

namespace weir {

/// Why a candidate is not usable; thrown by the steps of a probe.
struct Refusal {
  DriverStatus status;
  std::string reason;
  std::string remedy;
};

/// Reads the manifest, checks who may write it, its architecture and its ABI range, and fills `candidate`
/// from it. The library is not touched. Throws Refusal.
struct Manifest;
Manifest check_manifest(Candidate& candidate);

/// Checks that the library is there, who may write it and what it is made for, without loading it. Throws
/// Refusal.
void check_library(const Candidate& candidate);

/// Loads the library that `manifest` names, takes its table and asks for its devices. Throws Refusal.
/// `begins` is told of each step before it begins.
void load_driver(Candidate& candidate, const Manifest& manifest,
                 const std::function<void(ProbeStep)>& begins = {});

/// Opens the first device and closes it, for a trial. A device that cannot be opened, because another process
/// has it or memory is short, is no fault. Throws Refusal when a call throws.
void open_and_close(const GpuDriver& driver, const std::function<void(ProbeStep)>& begins);

/// Puts the wanted layers around the driver of `candidate`. Throws LayersError.
void add_layers(Candidate& candidate);

/// A driver with more devices is refused.
inline constexpr std::uint32_t most_driver_devices = 1024;

/// Ends every text of `info` inside its array.
void terminate_texts(weir_device_info& info);

}  // namespace weir
