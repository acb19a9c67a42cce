// SPDX-License-Identifier: Apache-2.0
#include "runtime/communicators/thread_group.hpp"

#include <algorithm>

namespace weir::detail {
namespace {

/// Groups whose ranks have not all joined, by address.
struct OpenGroups {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<ThreadGroup>> by_address;
};
OpenGroups& open_groups() {
  static auto* groups = new OpenGroups;  // outlives threads that run at exit
  return *groups;
}

}  // namespace

std::shared_ptr<ThreadGroup> ThreadGroup::enter(const std::string& address, std::uint32_t rank,
                                                std::uint32_t size, const std::optional<Device>& device) {
  OpenGroups& open = open_groups();
  const std::lock_guard lock(open.mutex);
  std::erase_if(open.by_address, [](const auto& entry) { return entry.second.expired(); });  // failed joins
  std::weak_ptr<ThreadGroup>& found = open.by_address[address];
  std::shared_ptr<ThreadGroup> group = found.lock();
  if (!group) found = group = std::make_shared<ThreadGroup>();
  const std::lock_guard inner(group->mutex_);
  group->devices_.resize(std::max<std::size_t>(group->devices_.size(), std::max(size, rank + 1)));
  group->devices_[rank] = device;
  return group;
}

std::vector<std::optional<Device>> ThreadGroup::complete(const std::string& address) {
  OpenGroups& open = open_groups();
  const std::lock_guard lock(open.mutex);
  if (const auto found = open.by_address.find(address);
      found != open.by_address.end() && found->second.lock().get() == this)
    open.by_address.erase(found);
  const std::lock_guard inner(mutex_);
  return devices_;
}

}  // namespace weir::detail
