// SPDX-License-Identifier: Apache-2.0
// Where Weir looks for drivers and layers, and how it reads a driver's manifest. For tools that judge or
// package drivers; not part of <weir/weir.hpp>.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>
#include <weir/export.hpp>

namespace weir {

/// Where drivers are looked for, in order: WEIR_DRIVER_PATH (colon separated), the user's data folder,
/// the install prefix of libweir itself, the system folder. Environment and user's folder are left out when
/// the process runs elevated. Absolute; no folder twice; never the current folder. Thread-safe as getenv is.
WEIR_API std::vector<std::filesystem::path> driver_search_path();

/// The same for communicators: WEIR_COMMUNICATOR_PATH, then `communicators` next to each folder of drivers.
WEIR_API std::vector<std::filesystem::path> communicator_search_path();

/// Where layers are looked for, in order: WEIR_LAYER_PATH (colon separated), then `layers` next to each
/// folder of the driver search path. The environment is left out when the process runs elevated.
WEIR_API std::vector<std::filesystem::path> layer_search_path();

/// What a plugin is.
enum class PluginKind : std::uint8_t { driver, communicator };

/// A plugin's manifest, whose format <weir/driver.h> describes, with everything that is wrong with it.
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

/// Reads a manifest as Weir does when it looks for drivers, but lists every fault, and judges neither who may
/// write the file nor whether the driver fits this machine. Members that could not be read are empty. Throws
/// Error{system} when the file cannot be read or is not a regular file. Never waits for a named pipe.
WEIR_API Manifest examine_manifest(const std::filesystem::path& file);

/// Lower case letters, digits and '-', not '-' first, at most 32: the rule for names of drivers and layers.
WEIR_API bool valid_driver_name(std::string_view name) noexcept;

}  // namespace weir
