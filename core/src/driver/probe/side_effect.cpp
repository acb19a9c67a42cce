// SPDX-License-Identifier: Apache-2.0
#include "driver/probe/side_effect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace weir {
namespace {

constexpr std::array<std::string_view, 8> step_keys{"load", "entry", "count", "describe",
                                                    "open", "close", "idle",  "exit"};

struct ChangeRule {
  std::string_view key;
  bool refused;
  std::string_view words;  ///< with {name}, {before} and {after}
};

// In the order of Change.
constexpr std::array<ChangeRule, change_count> rules{{
    {"descriptor_closed", true, "closed descriptor {before}, which it had not opened"},
    {"descriptor_replaced", true, "put another file at descriptor {before}, which it had not opened"},
    {"descriptor_flags", true, "changed the flags of descriptor {before}, which it had not opened"},
    {"descriptors_opened", false, "keeps descriptors open ({after})"},
    {"working_folder", true, "changed the working folder"},
    {"root_folder", true, "changed the root folder"},
    {"limit_lowered", true, "lowered {name} from {before} to {after}"},
    {"limit_raised", false, "raised {name} from {before} to {after}"},
    {"environment_added", false, "added the environment variable {name}"},
    {"environment_replaced", true, "changed the environment variable {name}"},
    {"environment_removed", true, "removed the environment variable {name}"},
    {"signal_action", false, "installed a handler for {name}"},
    {"signal_mask", true, "changed whether the calling thread blocks {name}"},
    {"locale", true, "changed the locale ({name})"},
    {"umask", true, "changed the umask from {before:03o} to {after:03o}"},
    {"floating_point", true, "changed {name} of the calling thread's floating-point arithmetic"},
    {"session", true, "made a session of its own"},
    {"process_group", true, "moved the process to another process group"},
    {"timer", true, "armed the timer {name}"},
    {"affinity", true, "changed the processors of the calling thread from {before} to {after}"},
    {"scheduling", true, "changed the {name} of the calling thread from {before} to {after}"},
    {"identity", true, "changed the {name} of the process"},
    {"privileges", true, "changed {name} of the process from {before} to {after}"},
    {"option", false, "changed {name}"},
    // Without their number, which depends on the moment: threads of vendors start and end later.
    {"threads", false, "keeps threads running"},
    {"processes", true, "left processes running ({after})"},
    {"error_output", false, "wrote {after} bytes to standard error"},
    {"exception", true, "threw an exception"},
    {"standard_streams", true, "changed the standard streams of C or C++, or their formats"},
}};

const ChangeRule& rule_of(Change change) {
  return rules[static_cast<std::size_t>(change)];
}

std::string limit_text(std::int64_t limit) {
  return limit < 0 ? std::string("no limit") : std::to_string(limit);
}

// Keeps letters, digits, '_' and characters that have no special meaning in a verdict.
bool is_plain(unsigned char c) {
  return c > 0x20 && c < 0x7f && c != ':' && c != '%';
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const unsigned char c : text.substr(0, max_effect_name)) {
    if (is_plain(c))
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02x}", c);
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!is_plain(static_cast<unsigned char>(text[i]))) return std::nullopt;
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
    if (error != std::errc() || end != text.data() + i + 3) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  if (out.size() > max_effect_name) return std::nullopt;
  return out;
}

std::string_view next_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(':'), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

bool read_integer(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string_view name_of(ProbeStep step, PluginKind kind) {
  switch (step) {
    case ProbeStep::load:
      return "the loading of its library";
    case ProbeStep::entry:
      return "its entry point";
    case ProbeStep::count:
      return "device_count";
    case ProbeStep::describe:
      return kind == PluginKind::driver ? "device_get_info" : "communicator_get_info";
    case ProbeStep::open:
      return "device_open";
    case ProbeStep::close:
      return "device_close";
    case ProbeStep::idle:
      return "a thread or timer of its own";
    case ProbeStep::exit:
      return "its exit handlers";
  }
  return "";
}

bool harms_others(const SideEffect& effect) {
  switch (effect.change) {
    case Change::signal_action:
      // LLVM, which vendors' compilers contain, installs handlers that end with the replaced action.
      return effect.after == static_cast<std::int64_t>(SignalAction::ignore);
    case Change::limit_lowered:
      return effect.name != "RLIMIT_CORE";
    case Change::environment_added:
      return effect.name.starts_with("WEIR_") || effect.name.starts_with("LD_");
    default:
      return rule_of(effect.change).refused;
  }
}

bool harm_others(const std::vector<SideEffect>& effects) {
  return std::ranges::any_of(effects, harms_others);
}

std::string describe(const SideEffect& effect) {
  using namespace fmt::literals;
  if (effect.change == Change::signal_action && harms_others(effect)) return "ignores " + effect.name;
  const std::string_view words = rule_of(effect.change).words;
  if (effect.change == Change::limit_lowered || effect.change == Change::limit_raised)
    return fmt::format(fmt::runtime(words), "name"_a = effect.name, "before"_a = limit_text(effect.before),
                       "after"_a = limit_text(effect.after));
  return fmt::format(fmt::runtime(words), "name"_a = effect.name, "before"_a = effect.before,
                     "after"_a = effect.after);
}

std::vector<std::string> describe(const std::vector<SideEffect>& effects, bool refused) {
  std::vector<SideEffect> groups;
  for (const SideEffect& effect : effects) {
    if (harms_others(effect) != refused) continue;
    const auto same = std::ranges::find_if(groups, [&](const SideEffect& group) {
      return group.change == effect.change && group.during == effect.during &&
             group.before == effect.before && group.after == effect.after && !group.name.empty();
    });
    if (same == groups.end())
      groups.push_back(effect);
    else
      same->name += ", " + effect.name;
  }
  std::vector<std::string> words;
  for (const SideEffect& group : groups) {
    const std::string_view where =
        group.during == ProbeStep::idle ? "after its calls" : name_of(group.during);
    words.push_back(
        fmt::format("{}{} it {}", group.during == ProbeStep::idle ? "" : "in ", where, describe(group)));
  }
  return words;
}

std::string_view key_of(Change change) {
  return rule_of(change).key;
}

std::string_view key_of(ProbeStep step) {
  return step_keys[static_cast<std::size_t>(step)];
}

std::optional<ProbeStep> step_of(std::string_view key) {
  const auto found = std::ranges::find(step_keys, key);
  if (found == step_keys.end()) return std::nullopt;
  return static_cast<ProbeStep>(found - step_keys.begin());
}

std::string to_text(const SideEffect& effect) {
  return fmt::format("{}:{}:{}:{}:{}", key_of(effect.change), key_of(effect.during), effect.before,
                     effect.after, escaped(effect.name));
}

std::optional<SideEffect> parse_side_effect(std::string_view word) {
  if (std::ranges::count(word, ':') != 4) return std::nullopt;
  const std::string_view change = next_field(word), step = next_field(word), before = next_field(word),
                         after = next_field(word);
  const auto rule = std::ranges::find(rules, change, &ChangeRule::key);
  const auto during = step_of(step);
  const auto name = unescaped(word);
  SideEffect effect;
  if (rule == rules.end() || !during || !name || !read_integer(before, effect.before) ||
      !read_integer(after, effect.after))
    return std::nullopt;
  effect.change = static_cast<Change>(rule - rules.begin());
  effect.during = *during;
  effect.name = *name;
  return effect;
}

}  // namespace weir
