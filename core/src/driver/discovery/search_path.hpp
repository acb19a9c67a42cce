// SPDX-License-Identifier: Apache-2.0
// The search path of each kind of plugins, as a function of its inputs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/registry.hpp"

namespace weir {

/// The inputs of the search path; unset environment variables are empty.
struct SearchInputs {
  std::string plugin_path;            ///< WEIR_DRIVER_PATH or WEIR_COMMUNICATOR_PATH
  std::string data_home;              ///< XDG_DATA_HOME
  std::string home;                   ///< HOME
  std::filesystem::path own_library;  ///< the file with this code: libweir, or a program linked with it
  bool elevated = false;
};

/// The inputs of this process.
SearchInputs current_search_inputs(PluginKind kind = PluginKind::driver);

std::vector<SearchFolder> make_search_path(const SearchInputs& inputs, PluginKind kind = PluginKind::driver);

/// The folders of plugin_search_folders that are searched.
std::vector<std::filesystem::path> plugin_search_path(PluginKind kind);
/// Whether the path, or one to which its links lead, is in /proc, which has other names for the current
/// folder.
bool leads_through_proc(const std::filesystem::path& path);

/// The program that tries drivers, in weir_folder().
inline constexpr std::string_view probe_program = "weir-probe";

/// The folder of Weir's own files, `lib/weir`: its drivers and its helper programs.
std::filesystem::path weir_folder(const std::filesystem::path& own_library);

}  // namespace weir
