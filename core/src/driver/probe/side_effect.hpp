// SPDX-License-Identifier: Apache-2.0
// Changes that a driver made to its process during a trial: which are refused, and their descriptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <weir/drivers.hpp>
#include <weir/export.hpp>

namespace weir {

/// The most recent step of a trial. `idle` is the time after the calls, in which the driver's own threads and
/// timers run; `exit` is the end of the process with its destructors.
enum class ProbeStep : std::uint8_t { load, entry, count, describe, open, close, idle, exit };

/// "device_count", "the loading of its library".
std::string_view name_of(ProbeStep step, PluginKind kind = PluginKind::driver);

/// The position is stored in verdicts: add new kinds at the end.
enum class Change : std::uint8_t {
  descriptor_closed,    ///< a descriptor that the driver did not open; before: its number
  descriptor_replaced,  ///< now another file; before: its number
  descriptor_flags,     ///< O_NONBLOCK, O_APPEND or FD_CLOEXEC differs; before: its number
  descriptors_opened,   ///< after: the number of additional open descriptors
  working_folder,
  root_folder,
  limit_lowered,         ///< name: RLIMIT_NOFILE; before, after: the soft limit, -1 for none
  limit_raised,          ///< the same
  environment_added,     ///< name: the variable
  environment_replaced,  ///< the variable had another value
  environment_removed,
  signal_action,   ///< name: SIGINT; after: a SignalAction
  signal_mask,     ///< name: SIGINT, of the calling thread
  locale,          ///< name: LC_NUMERIC, "C++", "thread"
  umask,           ///< before, after: the mask
  floating_point,  ///< name: the rounding mode, ... of the calling thread
  session,
  process_group,
  timer,         ///< name: ITIMER_REAL, or a signal of timer_create
  affinity,      ///< before, after: the number of processors of the calling thread
  scheduling,    ///< name: nice value, policy
  identity,      ///< name: user, group
  privileges,    ///< name: no_new_privs, seccomp, ...
  option,        ///< other attributes of the process that matter to debuggers; name: dumpable, ...
  threads,       ///< after: the number of the driver's threads that still run
  processes,     ///< after: the number of processes that outlived the driver's process
  error_output,  ///< after: bytes written to standard error
  exception,     ///< thrown by the function that `during` names
  standard_streams,
};
inline constexpr std::size_t change_count = static_cast<std::size_t>(Change::standard_streams) + 1;

enum class SignalAction : std::int64_t { standard, ignore, handler };

struct SideEffect {
  Change change = Change::option;
  ProbeStep during = ProbeStep::load;
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::string name;  ///< at most 64 bytes

  bool operator==(const SideEffect&) const = default;
};

inline constexpr std::size_t max_effect_name = 64;
inline constexpr std::size_t max_side_effects = 64;

/// Whether a driver with this effect is refused, because programs and other drivers would fail or compute
/// wrong results. The table in sdk/docs/driver-abi.md lists the refused changes, with reasons.
WEIR_API bool harms_others(const SideEffect& effect);
bool harm_others(const std::vector<SideEffect>& effects);

/// "lowered RLIMIT_NOFILE from 1024 to 8", to follow "it".
WEIR_API std::string describe(const SideEffect& effect);

/// One text for each step and change, "in device_count it installed a handler for SIGINT, SIGTERM". Covers
/// either the refused changes or the others.
WEIR_API std::vector<std::string> describe(const std::vector<SideEffect>& effects, bool refused);

/// "limit_lowered", for JSON; never changes.
WEIR_API std::string_view key_of(Change change);
/// "device_count" as in ProbeOutcome's text: "count".
WEIR_API std::string_view key_of(ProbeStep step);
std::optional<ProbeStep> step_of(std::string_view key);

/// One word without spaces, "limit_lowered:count:1024:8:RLIMIT_NOFILE"; the inverse of parse_side_effect.
std::string to_text(const SideEffect& effect);
std::optional<SideEffect> parse_side_effect(std::string_view word);

}  // namespace weir
