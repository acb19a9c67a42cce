// SPDX-License-Identifier: Apache-2.0
// Compiled pipelines on disk (cache_file.hpp). A missing, damaged or foreign file counts as empty; no failure
// is reported.
#pragma once

#include "library.hpp"

namespace weir::vulkan {

/// A pipeline cache with the file's contents; null if Vulkan makes none.
VkPipelineCache load_pipeline_cache(const PhysicalDevice& physical, VkDevice device,
                                    const VolkDeviceTable& vk) noexcept;

/// Replaces the file, unless the contents are the same or the cache is off.
void save_pipeline_cache(const PhysicalDevice& physical, VkDevice device, const VolkDeviceTable& vk,
                         VkPipelineCache cache) noexcept;

}  // namespace weir::vulkan
