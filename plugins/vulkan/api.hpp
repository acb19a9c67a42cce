// SPDX-License-Identifier: Apache-2.0
// The part of the Vulkan API that the driver uses: entry points that volk fills at run time, and results as
// failures. The driver links no Vulkan library.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>

#include <string_view>
#include <weir/sdk/status.hpp>

namespace weir::vulkan {

/// "VK_ERROR_DEVICE_LOST"; "" for an unknown number.
const char* name_of(VkResult result) noexcept;

/// Throws a Failure that names the operation, the expectation and Vulkan's result.
[[noreturn, gnu::cold]] void raise(VkResult result, std::string_view doing);

/// Throws unless `result` is a success. `doing` completes "cannot ...".
inline void check(VkResult result, std::string_view doing) {
  if (result < 0) [[unlikely]]
    raise(result, doing);
}

/// A Vulkan struct with its type set and all other members zero.
template <class Struct>
constexpr Struct make(VkStructureType type) noexcept {
  Struct out{};
  out.sType = type;
  return out;
}

}  // namespace weir::vulkan
