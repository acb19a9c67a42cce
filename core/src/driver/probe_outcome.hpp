// SPDX-License-Identifier: Apache-2.0
// How the probe of a driver in a process of its own ended, as a line of text and in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/side_effect.hpp"

namespace weir {

struct Refusal;

struct ProbeOutcome {
  enum class Ending : std::uint8_t {
    completed,    ///< it came to its end, whatever it found; number: bytes written to standard output
    crashed,      ///< number: the signal
    hung,         ///< number: milliseconds after which it was killed
    exited,       ///< number: the exit status
    interrupted,  ///< killed by somebody else; number: the signal
  };
  Ending ending = Ending::completed;
  ProbeStep step = ProbeStep::load;
  std::int64_t number = 0;
  std::vector<SideEffect> effects = {};  ///< changes that the driver made to its process

  bool operator==(const ProbeOutcome&) const = default;
};

/// Whether a program may load the driver: its trial completed and nothing was changed that others need.
bool is_sound(const ProbeOutcome& outcome);

/// The part of `outcome` that verdicts keep: a bounded number of the changes that are refused. Its refusal is
/// the same.
ProbeOutcome kept_part(ProbeOutcome outcome);

/// "crashed count 11", followed by the words of side effects; parse_probe_outcome reads it, and nothing else.
std::string to_text(const ProbeOutcome& outcome);
std::optional<ProbeOutcome> parse_probe_outcome(std::string_view text);

/// Why a driver whose outcome is not sound is refused, and the remedy.
Refusal refusal_of(const ProbeOutcome& outcome);

}  // namespace weir
