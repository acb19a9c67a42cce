// SPDX-License-Identifier: Apache-2.0
// Files that the driver keeps between processes, in the folder `vulkan` of Weir's cache folder. A file
// belongs to one device and one version of the vendor's driver. Files and folders that others may write are
// not used.
//
// The host's compile cache does not fit, because it keeps code of modules (code_compile), and Vulkan compiles
// pipelines at launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "library.hpp"

namespace weir::vulkan {

/// FNV-1a of these bytes, from the hash of earlier ones.
std::uint64_t hash_of(const void* data, std::size_t size,
                      std::uint64_t earlier = 0xcbf29ce484222325u) noexcept;

/// The file's data; "" if there is no whole, undamaged one.
std::string read_cache_file(const PhysicalDevice& device, const char* suffix);

/// Replaces the file as a whole. Failures are ignored.
void write_cache_file(const PhysicalDevice& device, const char* suffix, const std::string& data);

/// Removes files that were written first until those that end with `suffix` have at most `bytes` together.
void trim_cache_files(std::string_view suffix, std::uint64_t bytes);

}  // namespace weir::vulkan
