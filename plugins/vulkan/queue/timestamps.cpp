// SPDX-License-Identifier: Apache-2.0
#include "queue/timestamps.hpp"

namespace weir::vulkan {
namespace {
constexpr std::uint32_t pool_queries = 256;
}

Timestamp::~Timestamp() {
  try {
    std::lock_guard lock(owner->mutex_);
    owner->idle_.emplace_back(pool, index);
  } catch (const std::bad_alloc&) {  // lost until the device is closed
  }
}

void Timestamps::start(const PhysicalDevice& physical, VkDevice device, const VolkDeviceTable& vk) {
  physical_ = &physical;
  device_ = device;
  vk_ = &vk;
}

void Timestamps::stop() noexcept {
  std::lock_guard lock(mutex_);
  idle_.clear();
  for (VkQueryPool pool : pools_) vk_->vkDestroyQueryPool(device_, pool, nullptr);
  pools_.clear();
}

std::shared_ptr<Timestamp> Timestamps::take() {
  std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    auto create = make<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    create.queryType = VK_QUERY_TYPE_TIMESTAMP;
    create.queryCount = pool_queries;
    pools_.reserve(pools_.size() + 1);
    idle_.reserve(pool_queries * (pools_.size() + 1));
    VkQueryPool pool = VK_NULL_HANDLE;
    check(vk_->vkCreateQueryPool(device_, &create, nullptr, &pool), "create timestamp queries");
    pools_.push_back(pool);
    for (std::uint32_t i = 0; i < pool_queries; ++i) idle_.emplace_back(pool, i);
  }
  auto out = std::make_shared<Timestamp>(this, idle_.back().first, idle_.back().second);
  idle_.pop_back();
  return out;
}

void Timestamps::record(VkCommandBuffer commands, const Timestamp& at) const {
  vk_->vkCmdResetQueryPool(commands, at.pool, at.index, 1);
  vk_->vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, at.pool, at.index);
}

std::uint64_t Timestamps::ticks(const Timestamp& at) const {
  std::uint64_t value = 0;
  check(vk_->vkGetQueryPoolResults(device_, at.pool, at.index, 1, sizeof value, &value, sizeof value,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "read a timestamp");
  return value;
}

double Timestamps::between(const Timestamp& start, const Timestamp& end) const {
  const std::uint32_t unused = 64 - physical_->timestamp_bits;
  const auto ticks_between = static_cast<std::int64_t>((ticks(end) - ticks(start)) << unused) >> unused;
  return static_cast<double>(ticks_between) *
         static_cast<double>(physical_->properties.limits.timestampPeriod);
}

}  // namespace weir::vulkan
