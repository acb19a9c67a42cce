// SPDX-License-Identifier: Apache-2.0
#include "code/pipeline_cache.hpp"

#include "code/cache_file.hpp"

namespace weir::vulkan {
namespace {
constexpr const char* pipelines_suffix = ".pipelines";
constexpr std::size_t max_pipeline_bytes = std::size_t{256} << 20;
}  // namespace

VkPipelineCache load_pipeline_cache(const PhysicalDevice& physical, VkDevice device,
                                    const VolkDeviceTable& vk) noexcept {
  VkPipelineCache cache = VK_NULL_HANDLE;
  try {
    const std::string data = read_cache_file(physical, pipelines_suffix);
    auto create = make<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    create.initialDataSize = data.size();
    create.pInitialData = data.data();
    if (vk.vkCreatePipelineCache(device, &create, nullptr, &cache) < 0) cache = VK_NULL_HANDLE;
  } catch (const std::exception&) {
  } catch (const sdk::Failure&) {
  }
  return cache;
}

void save_pipeline_cache(const PhysicalDevice& physical, VkDevice device, const VolkDeviceTable& vk,
                         VkPipelineCache cache) noexcept {
  try {
    std::size_t size = 0;
    if (vk.vkGetPipelineCacheData(device, cache, &size, nullptr) < 0 || size > max_pipeline_bytes) return;
    std::string data(size, '\0');
    if (vk.vkGetPipelineCacheData(device, cache, &size, data.data()) != VK_SUCCESS) return;
    data.resize(size);
    if (data != read_cache_file(physical, pipelines_suffix))
      write_cache_file(physical, pipelines_suffix, data);
  } catch (const std::exception&) {
  } catch (const sdk::Failure&) {
  }
}

}  // namespace weir::vulkan
