// SPDX-License-Identifier: Apache-2.0
// Decides whether a driver may be loaded into this process: a verdict that was kept says so, or a probe in a
// process of its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "driver/probe_child.hpp"
#include "driver/registry.hpp"
#include "driver/verdicts.hpp"

namespace weir {

struct Manifest;

struct ProbePolicy {
  std::filesystem::path helper;    ///< weir-probe; empty when drivers are probed in this process
  std::string why_no_helper;       ///< when it is empty
  std::filesystem::path verdicts;  ///< the file of verdicts; empty when none are kept
  std::chrono::milliseconds limit{20'000};
};

/// What the policy is made of; unset environment variables are empty.
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

/// What is known of a driver before it is loaded, or the process that finds it out.
struct Trial {
  std::string key;  ///< of its verdict; empty when none is kept
  std::optional<ProbeOutcome> known;
  std::unique_ptr<ProbeChild> child;  ///< when nothing is known, or the devices are to be described elsewhere
  std::string why_here;               ///< when there is no child either
};

class Prober {
 public:
  /// `inspects`: the driver is described by a process of its own and never loaded here.
  Prober(ProbePolicy policy, bool inspects)
      : policy_(std::move(policy)), inspects_(inspects), verdicts_(policy_.verdicts) {}

  /// Starts to find out whether the driver may be loaded, which goes on while others are begun and loaded.
  Trial begin(const Candidate& candidate, const Manifest& manifest);

  /// Waits for what was begun. Sets `candidate.probed`, `candidate.effects` and `candidate.note`. Throws
  /// Refusal when the driver must not be loaded here. Returns its findings, if there are any.
  std::optional<Findings> admit(Candidate& candidate, Trial& trial);

  /// Keeps what was found out, and notes in the candidates when that was not possible.
  void finish(std::span<Candidate* const> candidates) noexcept;

 private:
  ProbePolicy policy_;
  bool inspects_;
  Verdicts verdicts_;
};

}  // namespace weir
