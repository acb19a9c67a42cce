// SPDX-License-Identifier: Apache-2.0
// Opens a plugin's library and explains failures in plain words.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <weir/drivers.hpp>

#include "driver/probe/probe.hpp"
#include "driver/trust/trust.hpp"

namespace weir {

/// Opens `library` with all its symbols resolved and hidden from other libraries, keeps it until the process
/// ends, and returns its entry point for that kind of plugin. Throws Refusal, or Error{system} when another
/// file has replaced it.
void* open_plugin_library(const TrustedFile& library, PluginKind kind,
                          std::span<const std::string> vendor_libraries);

/// Translates the message `words` of the system's loader about `library`.
Refusal explain_loader_message(std::string_view words, const std::filesystem::path& library,
                               std::span<const std::string> vendor_libraries,
                               PluginKind kind = PluginKind::driver);

}  // namespace weir
