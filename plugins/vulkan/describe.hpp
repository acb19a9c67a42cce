// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weir/driver.h>

#include "library.hpp"

namespace weir::vulkan {

/// Fills in a device's description. The first call for a device measures its arithmetic, which takes a few
/// milliseconds.
void describe(const PhysicalDevice& device, weir_device_info& info);

/// The part of the description that depends on measurements: the device's features in the form of
/// weir_device_info.target_features.
std::string target_features(const PhysicalDevice& device);

/// Number of queues to open, and how many of them get a higher priority: a quarter, from four queues on.
std::uint32_t queues_of(const PhysicalDevice& device) noexcept;
std::uint32_t urgent_queues_of(const PhysicalDevice& device) noexcept;

}  // namespace weir::vulkan
