// SPDX-License-Identifier: Apache-2.0
// Where drivers are looked for, as a function of what it depends on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/registry.hpp"

namespace weir {

/// What the search path is made of; unset environment variables are empty.
struct SearchInputs {
  std::string weir_driver_path;       ///< WEIR_DRIVER_PATH
  std::string data_home;              ///< XDG_DATA_HOME
  std::string home;                   ///< HOME
  std::filesystem::path own_library;  ///< the file that holds this code: libweir, or a program linked with it
  bool elevated = false;
};

/// The value of an environment variable, empty when it is not set.
std::string environment(const char* name);

/// The inputs of this process.
SearchInputs current_search_inputs();

std::vector<SearchFolder> make_search_path(const SearchInputs& inputs);

/// Where Weir keeps what belongs to it alone, `lib/weir`: its drivers and its helper programs.
std::filesystem::path weir_folder(const std::filesystem::path& own_library);

}  // namespace weir
