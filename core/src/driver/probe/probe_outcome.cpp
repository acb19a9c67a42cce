// SPDX-License-Identifier: Apache-2.0
#include "driver/probe/probe_outcome.hpp"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "driver/discovery/plugin_kind.hpp"
#include "driver/probe/probe.hpp"

namespace weir {
namespace {

using Ending = ProbeOutcome::Ending;

constexpr std::array<std::string_view, 5> ending_words{"completed", "crashed", "hung", "exited",
                                                       "interrupted"};
constexpr std::size_t max_kept_effects = 16;

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

bool is_sound(const ProbeOutcome& outcome) {
  return outcome.ending == Ending::completed && !harm_others(outcome.effects);
}

ProbeOutcome kept_part(ProbeOutcome outcome) {
  std::erase_if(outcome.effects, [](const SideEffect& effect) { return !harms_others(effect); });
  if (outcome.effects.size() > max_kept_effects) outcome.effects.resize(max_kept_effects);
  return outcome;
}

std::string to_text(const ProbeOutcome& outcome) {
  std::string text = fmt::format("{} {} {}", ending_words[static_cast<std::size_t>(outcome.ending)],
                                 key_of(outcome.step), outcome.number);
  for (const SideEffect& effect : outcome.effects) text += " " + to_text(effect);
  return text;
}

std::optional<ProbeOutcome> parse_probe_outcome(std::string_view text) {
  const auto ending = index_of(ending_words, next_word(text));
  const auto step = step_of(next_word(text));
  const std::string_view digits = next_word(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (!ending || !step || error != std::errc() || end != digits.data() + digits.size() || number < 0)
    return std::nullopt;
  ProbeOutcome outcome{static_cast<Ending>(*ending), *step, number};
  while (!text.empty()) {
    const auto effect = parse_side_effect(next_word(text));
    if (!effect || outcome.effects.size() == max_side_effects) return std::nullopt;
    outcome.effects.push_back(*effect);
  }
  return outcome;
}

Refusal refusal_of(const ProbeOutcome& outcome, PluginKind kind) {
  const std::string_view plugin = terms_of(kind).name;
  const std::string_view where = name_of(outcome.step, kind);
  const std::string remedy = fmt::format(
      "update the {}, or report it to the author; `weir info --probe-again` tries it again", plugin);
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
      reason = fmt::format("it ended the process in {}, with status {}; a {} must {} instead", where,
                           outcome.number, plugin,
                           outcome.step == ProbeStep::exit ? "return from them" : "return an error");
      break;
    case Ending::interrupted:
      return {
          DriverStatus::broken,
          fmt::format("another process ended its trial in {} with {}", where, signal_text(outcome.number)),
          "try again; if it happens again, look whether the machine runs out of memory"};
    case Ending::completed:
      break;
  }
  for (const std::string& words : describe(kept_part(outcome).effects, true))
    reason += (reason.empty() ? "" : "; ") + words;
  if (outcome.ending == Ending::completed)
    reason += fmt::format("; a {} must leave its process as it found it", plugin);
  return {DriverStatus::broken, reason + " (in a process of its own)", remedy};
}

}  // namespace weir
