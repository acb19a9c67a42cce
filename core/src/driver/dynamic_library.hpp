// SPDX-License-Identifier: Apache-2.0
// Opens a driver's library and explains failures in plain words.
#pragma once

#include <weir/driver.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "driver/probe.hpp"
#include "driver/trust.hpp"

namespace weir {

/// Opens `library` with all its symbols resolved and hidden from other libraries, keeps it until the process
/// ends, and returns its entry point. Throws Refusal, or Error{system} when another file has replaced it.
weir_driver_entry_function open_driver_library(const TrustedFile& library,
                                               std::span<const std::string> vendor_libraries);

/// Translates the message `words` of the system's loader about `library`.
Refusal explain_loader_words(std::string_view words, const std::filesystem::path& library,
                             std::span<const std::string> vendor_libraries);

}  // namespace weir
