// SPDX-License-Identifier: Apache-2.0
// How the probe of a driver in a process of its own ended, as a line of text and in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct Refusal;

/// What of the driver ran last; `exit` is the end of the process, with its destructors.
enum class ProbeStep : std::uint8_t { load, entry, count, describe, exit };

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

  bool operator==(const ProbeOutcome&) const = default;
};

/// "crashed count 11"; parse_probe_outcome reads it, and nothing else.
std::string to_text(const ProbeOutcome& outcome);
std::optional<ProbeOutcome> parse_probe_outcome(std::string_view text);

/// Why a driver that did not complete is refused, and what to do.
Refusal refusal_of(const ProbeOutcome& outcome);

}  // namespace weir
