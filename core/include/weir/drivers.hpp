// SPDX-License-Identifier: Apache-2.0
// The search paths of drivers and layers, and the reader of manifests. For tools that check or package
// drivers; not part of <weir/weir.hpp>.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>
#include <weir/export.hpp>

namespace weir {

/// The folders that are searched for drivers, in order: WEIR_DRIVER_PATH (colon separated), the user's data
/// folder, the install prefix of libweir, the system folder. An elevated process ignores the environment and
/// the user's folder. Absolute; no folder twice; never the current folder. Thread-safe as getenv is.
WEIR_API std::vector<std::filesystem::path> driver_search_path();

/// The same for communicators: WEIR_COMMUNICATOR_PATH, then `communicators` next to each folder of drivers.
WEIR_API std::vector<std::filesystem::path> communicator_search_path();

/// The folders that are searched for layers, in order: WEIR_LAYER_PATH (colon separated), then `layers` next
/// to each folder of the driver search path. An elevated process ignores the environment. Throws
/// Error{invalid} if WEIR_LAYER_PATH has a relative folder.
WEIR_API std::vector<std::filesystem::path> layer_search_path();

/// The kind of a plugin.
enum class PluginKind : std::uint8_t { driver, communicator };

/// A plugin's manifest, in the format of <weir/driver.h>, with all its faults.
struct Manifest {
  PluginKind kind = PluginKind::driver;
  std::string name;
  std::string description;
  std::filesystem::path library;              ///< absolute
  std::uint32_t abi_min = 0, abi_max = 0;     ///< as WEIR_ABI_VERSION makes them
  std::string architecture;                   ///< as `uname -m` prints it
  std::vector<std::string> vendor_libraries;  ///< file names
  std::vector<std::string>
      launched_by;                  ///< variables in which a communicator's launcher gives the ranks' number
  std::vector<std::string> faults;  ///< each the end of a sentence: "lacks the key "name""
};

/// Reads a manifest as the search for drivers does, and lists every fault. Does not check who may write the
/// file or whether the driver fits this machine. Members that could not be read are empty. Throws
/// Error{system} if the file cannot be read or is not a regular file. Never waits for a named pipe.
WEIR_API Manifest examine_manifest(const std::filesystem::path& file);

/// Lower case letters, digits and '-', not '-' first, at most 32: the rule for names of drivers and layers.
WEIR_API bool valid_driver_name(std::string_view name) noexcept;

}  // namespace weir
