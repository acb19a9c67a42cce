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
  DriverFate fate;
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

}  // namespace weir
