// SPDX-License-Identifier: Apache-2.0
#include "queue/commands.hpp"

#include <algorithm>
#include <cstring>

namespace weir::vulkan {
namespace {

constexpr std::uint64_t tile_bytes = 4096;  // of a pattern longer than a word
constexpr std::uint64_t word = 4;

struct Scope {
  VkPipelineStageFlags2 stage;
  VkAccessFlags2 access;
};
constexpr Scope all_writes{VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_WRITE_BIT};

void record_memory_barrier(const VolkDeviceTable& vk, VkCommandBuffer commands, const Scope& before,
                           const Scope& after) {
  auto barrier = make<VkMemoryBarrier2>(VK_STRUCTURE_TYPE_MEMORY_BARRIER_2);
  barrier.srcStageMask = before.stage;
  barrier.srcAccessMask = before.access;
  barrier.dstStageMask = after.stage;
  barrier.dstAccessMask = after.access;
  auto info = make<VkDependencyInfo>(VK_STRUCTURE_TYPE_DEPENDENCY_INFO);
  info.memoryBarrierCount = 1;
  info.pMemoryBarriers = &barrier;
  vk.vkCmdPipelineBarrier2(commands, &info);
}

/// Whether the words of the range can be filled by vkCmdFillBuffer, except for up to 3 bytes at either end.
bool fills_words(const Range& to, const sdk::Pattern& pattern) noexcept {
  return pattern.size <= word && to.size >= 2 * word;
}

}  // namespace

void record_barrier(const VolkDeviceTable& vk, VkCommandBuffer commands, Ordered ordered) {
  if (ordered == Ordered::kernels)
    record_memory_barrier(
        vk, commands, {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_WRITE_BIT},
        {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT});
  else
    record_memory_barrier(
        vk, commands, all_writes,
        {VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT});
}

void record_end_barrier(const VolkDeviceTable& vk, VkCommandBuffer commands) {
  record_memory_barrier(
      vk, commands, all_writes,
      {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT});
}

void record_copy(const VolkDeviceTable& vk, VkCommandBuffer commands, const Range& to, const Range& from) {
  const VkBufferCopy region{from.offset, to.offset, to.size};
  vk.vkCmdCopyBuffer(commands, from.block->buffer, to.block->buffer, 1, &region);
}

std::uint64_t fill_scratch_bytes(const Range& to, const sdk::Pattern& pattern) noexcept {
  if (!fills_words(to, pattern)) return std::min(to.size, tile_bytes);
  return to.offset % word || to.size % word ? 16 : 0;
}

void record_fill(const VolkDeviceTable& vk, VkCommandBuffer commands, const Range& to,
                 const sdk::Pattern& pattern, const Range& scratch) {
  const std::uint64_t scratch_bytes = fill_scratch_bytes(to, pattern);
  for (std::uint64_t i = 0; i < scratch_bytes; i += sizeof pattern.bytes)
    std::memcpy(scratch.host() + i, pattern.bytes, std::min<std::uint64_t>(16, scratch_bytes - i));
  if (fills_words(to, pattern)) {
    const std::uint64_t head = (word - to.offset % word) % word;
    const std::uint64_t middle = (to.size - head) / word * word;
    const std::uint64_t tail = to.size - head - middle;
    std::uint32_t value = 0;
    std::memcpy(&value, pattern.bytes + head, word);  // patterns of at most a word repeat in every word
    vk.vkCmdFillBuffer(commands, to.block->buffer, to.offset + head, middle, value);
    if (head) record_copy(vk, commands, part(to, 0, head), part(scratch, 0, head));
    if (tail)
      record_copy(vk, commands, part(to, head + middle, tail), part(scratch, (head + middle) % word, tail));
    return;
  }
  record_copy(vk, commands, part(to, 0, scratch_bytes), part(scratch, 0, scratch_bytes));
  for (std::uint64_t done = scratch_bytes; done < to.size;) {
    const std::uint64_t size = std::min(done, to.size - done);
    record_barrier(vk, commands);
    record_copy(vk, commands, part(to, done, size), part(to, 0, size));
    done += size;
  }
}

void record_dispatch(const VolkDeviceTable& vk, VkCommandBuffer commands, const Dispatch& dispatch) {
  vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch.pipeline);
  vk.vkCmdPushConstants(commands, dispatch.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, dispatch.push_bytes,
                        &dispatch.push);
  vk.vkCmdDispatch(commands, dispatch.grid[0], dispatch.grid[1], dispatch.grid[2]);
}

}  // namespace weir::vulkan
