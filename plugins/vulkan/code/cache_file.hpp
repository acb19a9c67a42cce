// SPDX-License-Identifier: Apache-2.0
// Files that the driver keeps between processes, in the folder `vulkan` of Weir's cache folder. A file
// belongs to one device and one version of the vendor's driver. Files and folders that others may write are
// not used.
//
// The host's compile cache does not fit, because it keeps code of modules (code_compile). Vulkan compiles
// pipelines at launches, returns those of a device as one block of data, and takes it when the device is
// opened.
#pragma once

#include <string>

#include "library.hpp"

namespace weir::vulkan {

/// The file's data; "" if there is no whole, undamaged one.
std::string read_cache_file(const PhysicalDevice& device, const char* suffix);

/// Replaces the file as a whole. Failures are ignored.
void write_cache_file(const PhysicalDevice& device, const char* suffix, const std::string& data);

}  // namespace weir::vulkan
