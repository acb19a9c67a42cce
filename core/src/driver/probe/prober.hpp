// SPDX-License-Identifier: Apache-2.0
// Decides whether a driver may be loaded into this process, from a recorded verdict or from a probe in a
// separate process.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "driver/probe/probe_child.hpp"
#include "driver/probe/verdicts.hpp"
#include "driver/registry.hpp"

namespace weir {

struct Manifest;

struct ProbePolicy {
  std::filesystem::path helper;    ///< weir-probe; empty when drivers are probed in this process
  std::string why_no_helper;       ///< when it is empty
  std::filesystem::path verdicts;  ///< the file of verdicts; empty when none are kept
  std::chrono::milliseconds limit{20'000};
};

/// The inputs of the policy; unset environment variables are empty.
struct ProbeInputs {
  std::string weir_probe;             ///< WEIR_PROBE: "off", or seconds that a probe may take
  std::string cache_home;             ///< XDG_CACHE_HOME
  std::string home;                   ///< HOME
  std::filesystem::path own_library;  ///< as in SearchInputs
  bool elevated = false;
};

ProbePolicy make_probe_policy(const ProbeInputs& inputs);

/// The policy of this process.
ProbePolicy current_probe_policy();

/// The recorded verdict of a driver, or the process that determines it.
struct Trial {
  std::string key;  ///< of its verdict; empty when none is kept
  std::optional<ProbeOutcome> known;
  std::unique_ptr<ProbeChild> child;  ///< when no verdict is known, or another process describes the devices
  std::string reason_for_no_child;    ///< the reason when there is no child either
};

class Prober {
 public:
  /// `inspects`: a separate process describes the driver, and this process never loads it.
  Prober(ProbePolicy policy, bool inspects)
      : policy_(std::move(policy)), inspects_(inspects), verdicts_(policy_.verdicts) {}

  /// Starts to determine whether the driver may be loaded. Continues in the background while other candidates
  /// are processed.
  Trial begin(const Candidate& candidate, const Manifest& manifest);

  /// Waits for the trial. Sets `candidate.probed`, `candidate.effects` and `candidate.note`. Throws Refusal
  /// when the driver must not be loaded here. Returns its findings, if there are any.
  std::optional<Findings> admit(Candidate& candidate, Trial& trial);

  /// Records the verdicts, and notes in the candidates when that is not possible.
  void finish(std::span<Candidate* const> candidates) noexcept;

 private:
  ProbePolicy policy_;
  bool inspects_;
  Verdicts verdicts_;
};

}  // namespace weir
