// SPDX-License-Identifier: Apache-2.0
#include "driver/probe/prober.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "driver/discovery/plugin_kind.hpp"
#include "driver/discovery/search_path.hpp"
#include "driver/environment.hpp"
#include "driver/probe/probe.hpp"
#include "driver/trust/trust.hpp"

namespace weir {
namespace {

namespace fs = std::filesystem;
using Ending = ProbeOutcome::Ending;

constexpr std::uint32_t max_seconds = 3600;

void add_note(Candidate& candidate, std::string_view words) {
  if (!candidate.note.empty()) candidate.note += "; ";
  candidate.note += words;
}

std::string why_not_to_be_run(const fs::path& helper) {
  if (access(helper.c_str(), F_OK) != 0) return fmt::format("{} does not exist", helper.string());
  return why_untrusted(helper);
}

}  // namespace

ProbePolicy make_probe_policy(const ProbeInputs& inputs) {
  ProbePolicy policy;
  if (inputs.own_library.empty())
    policy.why_no_helper = "it is not known where Weir is installed";
  else
    policy.helper = weir_folder(inputs.own_library) / probe_program;
  if (inputs.elevated) return policy;

  // The XDG specification requires that a relative XDG_CACHE_HOME is ignored.
  if (fs::path(inputs.cache_home).is_absolute())
    policy.verdicts = fs::path(inputs.cache_home) / "weir/probes";
  else if (fs::path(inputs.home).is_absolute())
    policy.verdicts = fs::path(inputs.home) / ".cache/weir/probes";

  if (inputs.weir_probe == "off") {
    policy.helper.clear();
    policy.why_no_helper = "WEIR_PROBE is off";
    return policy;
  }
  policy.limit =
      parse_seconds("WEIR_PROBE", inputs.weir_probe, max_seconds, ", or off").value_or(policy.limit);
  return policy;
}

ProbePolicy current_probe_policy() {
  return make_probe_policy({environment("WEIR_PROBE"), environment("XDG_CACHE_HOME"), environment("HOME"),
                            current_search_inputs().own_library, process_is_elevated()});
}

Trial Prober::begin(const Candidate& candidate, const Manifest& manifest) {
  Trial trial;
  if (!policy_.verdicts.empty() && !policy_.helper.empty())
    trial.key = verdict_key(candidate.manifest, manifest);
  if (!trial.key.empty()) trial.known = verdicts_.find(trial.key);
  if (trial.known && !(inspects_ && is_sound(*trial.known))) return trial;
  const TrialKind kind = !inspects_    ? TrialKind::admit
                         : trial.known ? TrialKind::describe
                                       : TrialKind::inspect;
  trial.reason_for_no_child =
      policy_.helper.empty() ? policy_.why_no_helper : why_not_to_be_run(policy_.helper);
  if (trial.reason_for_no_child.empty())
    trial.child = std::make_unique<ProbeChild>(policy_.helper, candidate.manifest, policy_.limit, kind);
  return trial;
}

std::optional<Findings> Prober::admit(Candidate& candidate, Trial& trial) {
  std::optional<ProbeOutcome> outcome = trial.known;
  std::optional<Findings> findings;
  if (outcome) candidate.probed = ProbePlace::before;
  if (trial.child) {
    ProbeRun run = trial.child->wait();
    if (!run.outcome) trial.reason_for_no_child = fmt::format("{}: {}", policy_.helper.string(), run.failure);
    // A describing trial checks less, so its outcome does not replace the stored verdict.
    if (run.outcome && !(trial.known && is_sound(*run.outcome))) {
      candidate.probed = ProbePlace::child;
      if (run.outcome->ending != Ending::interrupted) verdicts_.add(trial.key, kept_part(*run.outcome));
    }
    if (run.outcome) outcome = run.outcome;
    findings = std::move(run.findings);
  }
  if (!outcome) {
    candidate.probed = ProbePlace::this_process;
    add_note(candidate, fmt::format("it was loaded without a trial in a process of its own, because {}",
                                    trial.reason_for_no_child));
    return std::nullopt;
  }
  candidate.effects = outcome->effects;
  if (!is_sound(*outcome)) {
    if (findings) candidate.identity = std::move(findings->identity);
    throw refusal_of(*outcome, candidate.kind);
  }
  if (outcome->number > 0)
    add_note(candidate,
             fmt::format("it wrote {} bytes to standard output when it was tried; a {} must print nothing",
                         outcome->number, terms_of(candidate.kind).name));
  return findings;
}

void Prober::finish(std::span<Candidate* const> candidates) noexcept {
  verdicts_.save();
  if (verdicts_.problem().empty()) return;
  for (Candidate* candidate : candidates)
    if (candidate->probed == ProbePlace::child)
      add_note(*candidate, fmt::format("every process tries it again, because {}", verdicts_.problem()));
}

}  // namespace weir
