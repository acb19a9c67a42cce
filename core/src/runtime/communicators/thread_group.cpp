// SPDX-License-Identifier: Apache-2.0
#include "runtime/communicators/thread_group.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

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

std::uint64_t ThreadGroup::make(std::shared_ptr<Offer> offer) {
  const std::lock_guard lock(mutex_);
  offers_.emplace(++made_, std::move(offer));
  return made_;
}

std::shared_ptr<Offer> ThreadGroup::take(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  auto found = offers_.extract(number);
  return found ? std::move(found.mapped()) : nullptr;
}

void ThreadGroup::settle(Offer& offer, std::shared_ptr<const Event> copied) {
  {
    const std::lock_guard lock(mutex_);
    offer.copied = std::move(copied);
    offer.settled.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

void ThreadGroup::wait(const Offer& offer) {
  // The receiver is submitting its copy: usually it takes less time than to wake a thread.
  constexpr auto spin = std::chrono::microseconds(50);
  const auto until = std::chrono::steady_clock::now() + spin;
  const auto is_settled = [&] { return offer.settled.load(std::memory_order_acquire); };
  while (!is_settled() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  if (is_settled()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, is_settled);
}

bool ThreadGroup::withdraw(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return offers_.erase(number) != 0;
}

}  // namespace weir::detail
