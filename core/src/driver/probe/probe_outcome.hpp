// SPDX-License-Identifier: Apache-2.0
// The outcome of a driver's trial in a separate process, as a line of text and in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/probe/side_effect.hpp"

namespace weir {

struct Refusal;

struct ProbeOutcome {
  enum class Ending : std::uint8_t {
    completed,    ///< ran to the end, whatever the findings; number: bytes written to standard output
    crashed,      ///< number: the signal
    hung,         ///< number: milliseconds after which it was killed
    exited,       ///< number: the exit status
    interrupted,  ///< killed by another process; number: the signal
  };
  Ending ending = Ending::completed;
  ProbeStep step = ProbeStep::load;
  std::int64_t number = 0;
  std::vector<SideEffect> effects = {};  ///< changes that the driver made to its process

  bool operator==(const ProbeOutcome&) const = default;
};

/// Whether a program may load the driver: its trial completed and made no change that is refused.
bool is_sound(const ProbeOutcome& outcome);

/// The part of `outcome` that verdicts keep: a bounded number of the refused changes. It leads to the same
/// refusal.
ProbeOutcome kept_part(ProbeOutcome outcome);

/// "crashed count 11", followed by the text of the side effects; the inverse of parse_probe_outcome.
std::string to_text(const ProbeOutcome& outcome);
std::optional<ProbeOutcome> parse_probe_outcome(std::string_view text);

/// Why a driver whose outcome is not sound is refused, and the remedy.
Refusal refusal_of(const ProbeOutcome& outcome, PluginKind kind = PluginKind::driver);

}  // namespace weir
