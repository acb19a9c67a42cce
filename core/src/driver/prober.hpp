// SPDX-License-Identifier: Apache-2.0
// Decides whether a driver may be loaded into this process: a verdict that was kept says so, or a probe in a
// process of its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <span>
#include <string>

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

class Prober {
 public:
  explicit Prober(ProbePolicy policy) : policy_(std::move(policy)), verdicts_(policy_.verdicts) {}

  /// Sets `candidate.probed` and `candidate.note`. Throws Refusal when the driver must not be loaded here.
  void admit(Candidate& candidate, const Manifest& manifest);

  /// Keeps what was found out, and notes in the candidates when that was not possible.
  void finish(std::span<Candidate> candidates) noexcept;

 private:
  ProbePolicy policy_;
  Verdicts verdicts_;
};

}  // namespace weir
