// SPDX-License-Identifier: Apache-2.0
// Commands that streams and graphs record in the same way.
#pragma once

#include <array>
#include <cstddef>
#include <weir/sdk/checks.hpp>
#include <weir/sdk/vulkan_launch.hpp>

#include "memory/heap.hpp"

namespace weir::vulkan {

namespace convention = sdk::vulkan_launch;

/// The commands that a barrier orders. On an H200, a barrier of kernels costs less than half as much as one
/// of all commands.
enum class Ordered { kernels, all };
/// Orders all later commands of the queue after all earlier ones, and makes their writes visible. Of
/// `kernels`, if the commands since the last barrier, and those up to the next one, are all kernels.
void record_barrier(const VolkDeviceTable& vk, VkCommandBuffer commands, Ordered ordered = Ordered::all);
/// Makes writes visible to the host once the batch is complete.
void record_end_barrier(const VolkDeviceTable& vk, VkCommandBuffer commands);

void record_copy(const VolkDeviceTable& vk, VkCommandBuffer commands, const Range& to, const Range& from);

/// Bytes of mapped memory that record_fill needs.
std::uint64_t fill_scratch_bytes(const Range& to, const sdk::Pattern& pattern) noexcept;
/// Repeats `pattern` over `to`. Vulkan fills aligned words only; other bytes are copied from `scratch`, which
/// must stay unchanged until the commands have run. `pattern` begins at the first byte of `to`.
void record_fill(const VolkDeviceTable& vk, VkCommandBuffer commands, const Range& to,
                 const sdk::Pattern& pattern, const Range& scratch);

struct Dispatch {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  std::uint32_t grid[3] = {1, 1, 1};
  /// The address of the argument block, and the arguments, if they are pushed.
  struct PushConstants {
    VkDeviceAddress block = 0;
    std::array<std::byte, convention::max_push_bytes - convention::pushed_arguments_at> arguments{};
  } push;
  std::uint32_t push_bytes = convention::pushed_arguments_at;
};
void record_dispatch(const VolkDeviceTable& vk, VkCommandBuffer commands, const Dispatch& dispatch);

/// The part of a range from `offset`, `size` bytes.
inline Range part(const Range& range, std::uint64_t offset, std::uint64_t size) noexcept {
  return {range.block, range.offset + offset, size};
}

}  // namespace weir::vulkan
