// SPDX-License-Identifier: Apache-2.0
// The driver that is judged: found by name or path, loaded once, asked through its table.
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
  std::string name;                ///< of the manifest, or of the library's file when there is none
  std::filesystem::path library;   ///< absolute
  std::filesystem::path manifest;  ///< absolute; empty when there is none beside the library
};

/// `what` is the name of an installed driver, a manifest or a library. Throws std::runtime_error that says
/// where it was looked for.
DriverFile find_driver(std::string_view what);

/// A layer of <weir/layer.h> to be put over the driver.
struct LayerFile {
  std::filesystem::path library;  ///< absolute; empty when there is to be none
  std::string options;
};

/// `what` is "NAME" or "NAME:OPTIONS" with a layer's name or the path of its library; empty for none. Throws
/// std::runtime_error that says where it was looked for.
LayerFile find_layer(std::string_view what);

/// The layer cannot be loaded, or does not take its options.
struct LayerRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What this process judges. Set before the first test.
struct Judged {
  DriverFile file;
  LayerFile layer;
  std::uint32_t device = 0;
  std::filesystem::path kernels;      ///< folder of ready code objects; may be empty
  std::chrono::seconds patience{10};  ///< see gate.hpp
};
Judged& judged();

/// The entry point; loads the library on first use and throws when that fails.
weir_driver_entry_function entry();
/// What the entry point gave to a host that speaks every version up to this suite's.
const weir_driver_table& raw_table();
/// The same under the layer, complete and counted: what every test calls.
const weir_driver_table& table();
/// The device that is judged, open until the process ends.
weir_device device();
const weir_device_info& info();
std::uint32_t device_count();
/// Throws Skipped that says why when the judged device is not there.
void needs_device();

bool has(std::uint64_t capabilities);
/// Throws Unsupported that names the capability when the device lacks it.
void needs(weir_capability capability);
std::string capability_name(weir_capability capability);

/// A status as a caller hands it in.
weir_status new_status();

}  // namespace weir::conformance
