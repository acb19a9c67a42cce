// SPDX-License-Identifier: Apache-2.0
#include "driver/probe_outcome.hpp"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "driver/probe.hpp"

namespace weir {
namespace {

using Ending = ProbeOutcome::Ending;

constexpr std::array<std::string_view, 5> ending_words{"completed", "crashed", "hung", "exited",
                                                       "interrupted"};
constexpr std::array<std::string_view, 5> step_words{"load", "entry", "count", "describe", "exit"};

std::string_view name_of(ProbeStep step) {
  switch (step) {
    case ProbeStep::load:
      return "the loading of its library";
    case ProbeStep::entry:
      return "its entry point";
    case ProbeStep::count:
      return "device_count";
    case ProbeStep::describe:
      return "device_get_info";
    case ProbeStep::exit:
      return "its exit handlers";
  }
  return "";
}

// "SIGSEGV (Segmentation fault)"
std::string signal_text(std::int64_t number) {
  const int signal = static_cast<int>(number);
  const char* const name = sigabbrev_np(signal);
  const char* const words = sigdescr_np(signal);
  return name && words ? fmt::format("SIG{} ({})", name, words) : fmt::format("signal {}", signal);
}

template <std::size_t N>
std::optional<std::uint8_t> index_of(const std::array<std::string_view, N>& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - words.begin());
}

std::string_view next_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

}  // namespace

std::string to_text(const ProbeOutcome& outcome) {
  return fmt::format("{} {} {}", ending_words[static_cast<std::size_t>(outcome.ending)],
                     step_words[static_cast<std::size_t>(outcome.step)], outcome.number);
}

std::optional<ProbeOutcome> parse_probe_outcome(std::string_view text) {
  const auto ending = index_of(ending_words, next_word(text));
  const auto step = index_of(step_words, next_word(text));
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!ending || !step || error != std::errc() || end != text.data() + text.size() || number < 0)
    return std::nullopt;
  return ProbeOutcome{static_cast<Ending>(*ending), static_cast<ProbeStep>(*step), number};
}

Refusal refusal_of(const ProbeOutcome& outcome) {
  const std::string_view where = name_of(outcome.step);
  constexpr std::string_view remedy =
      "update the driver, or tell its author; `weir info --probe-again` tries it again";
  std::string reason;
  switch (outcome.ending) {
    case Ending::crashed:
      reason = fmt::format("it crashed in {} with {}", where, signal_text(outcome.number));
      break;
    case Ending::hung:
      reason =
          fmt::format("{} did not return within {} s", where, static_cast<double>(outcome.number) / 1000);
      break;
    case Ending::exited:
      reason = fmt::format("it ended the process in {}, with status {}; a driver must {} instead", where,
                           outcome.number,
                           outcome.step == ProbeStep::exit ? "return from them" : "return an error");
      break;
    case Ending::interrupted:
      return {DriverFate::broken,
              fmt::format("somebody else ended its probe in {} with {}", where, signal_text(outcome.number)),
              "try again; if it happens again, look whether the machine runs out of memory"};
    case Ending::completed:
      reason = "its probe came to its end";
      break;
  }
  return {DriverFate::broken, reason + " (in a process of its own)", std::string(remedy)};
}

}  // namespace weir
