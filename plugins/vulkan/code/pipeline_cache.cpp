// SPDX-License-Identifier: Apache-2.0
#include "code/pipeline_cache.hpp"

#include "code/cache_file.hpp"

namespace weir::vulkan {
namespace {
constexpr std::size_t max_pipeline_bytes = std::size_t{16} << 20;
constexpr std::uint64_t all_bytes = std::uint64_t{256} << 20;  // of all files
constexpr std::uint64_t writes_per_trim = 64;
}  // namespace

PipelineFile::PipelineFile(const PhysicalDevice& physical, VkDevice device, const VolkDeviceTable& vk,
                           std::uint64_t hash) noexcept
    : physical_(physical), device_(device), vk_(vk), hash_(hash) {
  try {
    suffix_ = sdk::format_text(".%016llx.pipeline", static_cast<unsigned long long>(hash));
    read_ = read_cache_file(physical, suffix_.c_str());
    auto create = make<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    create.initialDataSize = read_.size();
    create.pInitialData = read_.data();
    if (vk.vkCreatePipelineCache(device, &create, nullptr, &cache_) < 0) cache_ = VK_NULL_HANDLE;
  } catch (const std::exception&) {
  } catch (const sdk::Failure&) {
  }
}

PipelineFile::~PipelineFile() {
  vk_.vkDestroyPipelineCache(device_, cache_, nullptr);
}

void PipelineFile::keep() noexcept {
  try {
    std::size_t size = 0;
    if (!cache_ || vk_.vkGetPipelineCacheData(device_, cache_, &size, nullptr) < 0 ||
        size > max_pipeline_bytes)
      return;
    std::string data(size, '\0');
    if (vk_.vkGetPipelineCacheData(device_, cache_, &size, data.data()) != VK_SUCCESS) return;
    data.resize(size);
    if (data == read_) return;
    write_cache_file(physical_, suffix_.c_str(), data);
    if (hash_ % writes_per_trim == 0) trim_cache_files(".pipeline", all_bytes);
  } catch (const std::exception&) {
  } catch (const sdk::Failure&) {
  }
}

}  // namespace weir::vulkan
