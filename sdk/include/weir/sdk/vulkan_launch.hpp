// SPDX-License-Identifier: Apache-2.0
// The launch convention of SPIR-V kernels, which the Vulkan driver and code generation share.
// sdk/docs/vulkan.md describes it.
#pragma once

#include <cstdint>

namespace weir::sdk::vulkan_launch {

// Bytes of push constants: the address of the argument block at 0, then the arguments, if a kernel declares
// them.
inline constexpr std::uint32_t pushed_arguments_at = 8;
inline constexpr std::uint32_t max_push_bytes = 128;  ///< that every device has

// Numbers of specialisation constants.
inline constexpr std::uint32_t block_size = 0;            ///< and 1 and 2: threads in x, y and z
inline constexpr std::uint32_t dynamic_shared_bytes = 3;  ///< at least 16
inline constexpr std::uint32_t arguments_are_pushed = 4;  ///< bool; otherwise they are in the argument block

}  // namespace weir::sdk::vulkan_launch
