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

// Compiled pipelines, one file for each. A missing, damaged or foreign file counts as empty, and failures are
// not reported.

/// One pipeline's file. It is written when the pipeline was compiled, since many processes end without
/// closing their devices.
class PipelineFile {
 public:
  /// Reads the file of the pipeline with this hash of its code, its name and its constants.
  PipelineFile(const PhysicalDevice& physical, VkDevice device, const VolkDeviceTable& vk,
               std::uint64_t hash) noexcept;
  PipelineFile(const PipelineFile&) = delete;
  ~PipelineFile();

  /// To create the pipeline with; null if Vulkan makes none.
  VkPipelineCache cache() const noexcept { return cache_; }
  /// Writes the file after the pipeline was created, unless the file had it.
  void keep() noexcept;

 private:
  const PhysicalDevice& physical_;
  const VkDevice device_;
  const VolkDeviceTable& vk_;
  const std::uint64_t hash_;
  std::string suffix_, read_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
};

}  // namespace weir::vulkan
