// SPDX-License-Identifier: Apache-2.0
// Steps of a probe that plugins of all kinds share. Each throws Refusal.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <weir/error.hpp>

#include "driver/discovery/manifest.hpp"
#include "driver/discovery/plugin_kind.hpp"
#include "driver/probe/probe.hpp"

namespace weir {

[[noreturn]] inline void refuse(DriverStatus status, std::string reason, std::string_view remedy) {
  throw Refusal{status, std::move(reason), std::string(remedy)};
}

inline std::string reinstall(PluginKind kind) {
  return fmt::format("reinstall the {}", terms_of(kind).name);
}
inline std::string reinstall_or_correct(PluginKind kind) {
  return reinstall(kind) + ", or correct its manifest";
}
inline std::string tell_author(PluginKind kind) {
  return fmt::format("update the {}, or report it to the author", terms_of(kind).name);
}
inline std::string abi_remedy(PluginKind kind, std::uint32_t newest) {
  return newest < terms_of(kind).abi_min
             ? fmt::format("update the {}", terms_of(kind).name)
             : fmt::format("update Weir, or install an older version of the {}", terms_of(kind).name);
}

/// Terminates a plugin's text inside its array.
template <std::size_t N>
void terminate(char (&text)[N]) {
  text[N - 1] = '\0';
}

/// Refuses a plugin because a call without arguments failed. Such a call returns INVALID only because of a
/// setting that the plugin read.
[[noreturn]] inline void refuse_failure(PluginKind kind, std::string_view what, weir_result result,
                                        const Status& status) {
  const std::string reason = fmt::format("{}: {}", what, describe_failure(result, status));
  if (result == WEIR_ERROR_INVALID)
    refuse(DriverStatus::wrong_setting, reason,
           fmt::format("correct the setting that it names; a new installation of the {} would not help",
                       terms_of(kind).name));
  refuse(DriverStatus::broken, reason, reinstall(kind));
}

/// Runs code of a plugin that must not throw. An exception that leaves it is an error of the plugin and must
/// not end the process.
template <class Call>
weir_result call_plugin(PluginKind kind, std::string_view what, Call call) {
  const auto must = [&] { return fmt::format("a {} must return an error instead", terms_of(kind).name); };
  try {
    return call();
  } catch (const std::exception& error) {
    refuse(DriverStatus::broken,
           fmt::format("{} threw an exception (\"{}\"); {}", what, error.what(), must()), tell_author(kind));
  } catch (...) {
    refuse(DriverStatus::broken, fmt::format("{} threw an exception; {}", what, must()), tell_author(kind));
  }
}

/// Calls the entry point and wraps the table, which Plugin's constructor checks.
template <class Plugin, class Table>
std::unique_ptr<Plugin> take_table(PluginKind kind, void* symbol) {
  using Entry = weir_result (*)(const weir_host*, const Table**, weir_status*);
  const auto entry = reinterpret_cast<Entry>(symbol);
  const PluginTerms& terms = terms_of(kind);
  const weir_host host{sizeof(weir_host), terms.abi_min, terms.abi_max};
  const Table* table = nullptr;
  Status status;
  const weir_result result =
      call_plugin(kind, "its entry point", [&] { return entry(&host, &table, &status); });
  if (result == WEIR_ERROR_ABI)
    refuse(DriverStatus::abi_refused,
           fmt::format("the {} refuses ABI {}: {}", terms.name, abi_range_text(terms.abi_min, terms.abi_max),
                       describe_failure(result, status)),
           fmt::format("install a version of the {} made for this Weir", terms.name));
  if (result != WEIR_OK) refuse_failure(kind, "its entry point failed", result, status);
  if (!table)
    refuse(DriverStatus::broken, "its entry point succeeded and returned no table", tell_author(kind));
  try {
    return std::make_unique<Plugin>(*table, terms.abi_min, terms.abi_max);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::abi)
      refuse(DriverStatus::abi_refused, error.what(), abi_remedy(kind, table->abi_version));
    refuse(DriverStatus::broken, error.what(), tell_author(kind));
  }
}

/// Refuses a plugin whose library names itself differently from its manifest.
template <class Plugin>
void check_name(PluginKind kind, const Plugin& plugin, const Manifest& manifest) {
  if (plugin.name() != manifest.name)
    refuse(
        DriverStatus::broken,
        fmt::format("the library reports the name \"{}\", its manifest \"{}\"", plugin.name(), manifest.name),
        reinstall(kind));
}

}  // namespace weir
