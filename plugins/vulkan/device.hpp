// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "library.hpp"

namespace weir::vulkan {

/// A logical device with the features that kernels and the driver use.
VkDevice create_device(const PhysicalDevice& physical, std::uint32_t queues, std::uint32_t urgent);

/// The layout of all pipelines: the address of the argument block as a push constant.
VkPipelineLayout create_pipeline_layout(VkDevice device, const VolkDeviceTable& vk);

}  // namespace weir::vulkan
