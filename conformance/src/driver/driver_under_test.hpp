// SPDX-License-Identifier: Apache-2.0
// The driver under test: found by name or path, loaded once, and called through its table.
#pragma once

#include <weir/driver.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weir::conformance {

struct DriverFile {
  std::string name;                ///< from the manifest, else the library's file name
  std::filesystem::path library;   ///< absolute
  std::filesystem::path manifest;  ///< absolute; empty if the library's folder has none
};

/// `what` is the name of an installed driver, a manifest or a library. Throws std::runtime_error that lists
/// the searched places.
DriverFile find_driver(std::string_view what);

/// A layer of <weir/layer.h> to load over the driver.
struct LayerFile {
  std::filesystem::path library;  ///< absolute; empty for no layer
  std::string options;
};

/// `what` is "NAME" or "NAME:OPTIONS", with a layer's name or the path of its library; empty for none. Throws
/// std::runtime_error that lists the searched places.
LayerFile find_layer(std::string_view what);

/// The layer cannot be loaded, or refuses its options.
struct LayerRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The subject of this process's tests. Set before the first test.
struct Judged {
  DriverFile file;
  LayerFile layer;
  std::uint32_t device = 0;
  std::filesystem::path kernels;      ///< folder of ready code objects; may be empty
  std::chrono::seconds patience{10};  ///< see gate.hpp
  bool thorough = false;              ///< --thorough
};
Judged& judged();

/// Returns the entry point. The first call loads the library and throws if that fails.
weir_driver_entry_function entry();
/// The table that the entry point returned to a host that supports every version up to this suite's.
const weir_driver_table& raw_table();
/// The driver's table, wrapped by the layer if there is one, with all slots filled and calls counted. All
/// tests call this one.
const weir_driver_table& table();
/// The same without checks, counts and a trace of the calls, which take longer than many calls. For races.
const weir_driver_table& quick_table();
/// The device under test. It stays open until the process exits. Throws std::runtime_error if it cannot be
/// opened, and Skipped if an earlier call of this process failed too: that failure is reported once.
weir_device device();
/// Whether device() has opened it.
bool device_is_open();
const weir_device_info& info();
std::uint32_t device_count();
/// Throws Skipped with the reason if the device under test does not exist.
void needs_device();

bool has(std::uint64_t capabilities);
/// Throws Unsupported with the capability's name if the device lacks it.
void needs(weir_capability capability);
/// The same without opening the device: for requirements about its first opening. Throws Skipped if the
/// device does not exist.
void needs_unopened(weir_capability capability);
std::string capability_name(weir_capability capability);
/// Throws Unsupported if the driver's table is of an older version than 1.`minor`, which introduced the rule.
void needs_version(std::uint32_t minor);

/// A status as a caller passes it: no byte of it is zero by chance, so that a driver that clears it shows.
weir_status new_status();

}  // namespace weir::conformance
