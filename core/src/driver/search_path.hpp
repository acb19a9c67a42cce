// SPDX-License-Identifier: Apache-2.0
// The search path of drivers, as a function of its inputs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/registry.hpp"

namespace weir {

/// The inputs of the search path; unset environment variables are empty.
struct SearchInputs {
  std::string weir_driver_path;       ///< WEIR_DRIVER_PATH
  std::string data_home;              ///< XDG_DATA_HOME
  std::string home;                   ///< HOME
  std::filesystem::path own_library;  ///< the file with this code: libweir, or a program linked with it
  bool elevated = false;
};

/// The inputs of this process.
SearchInputs current_search_inputs();

std::vector<SearchFolder> make_search_path(const SearchInputs& inputs);

/// The folder of Weir's own files, `lib/weir`: its drivers and its helper programs.
std::filesystem::path weir_folder(const std::filesystem::path& own_library);

}  // namespace weir
