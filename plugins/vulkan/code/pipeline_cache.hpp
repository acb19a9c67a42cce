// SPDX-License-Identifier: Apache-2.0
// Compiled pipelines on disk (cache_file.hpp), one file for each. A missing, damaged or foreign file counts
// as empty, and failures are not reported.
#pragma once

#include <cstdint>
#include <string>

#include "library.hpp"

namespace weir::vulkan {

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
