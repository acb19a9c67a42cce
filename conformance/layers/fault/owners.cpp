// SPDX-License-Identifier: Apache-2.0
#include "owners.hpp"

namespace weir::fault {

void Owners::open(weir_device device, std::uint32_t index) {
  const std::lock_guard lock(mutex_);
  const auto [known, fresh] = devices_.try_emplace(handle(device), Known{index});
  if (!fresh) ++known->second.openings;
}

void Owners::add(Handle made, Handle owner) {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(owner);
  devices_[made] = {found == devices_.end() ? no_device : found->second.device};
}

void Owners::remove(Handle gone) {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(gone);
  if (found != devices_.end() && --found->second.openings == 0) devices_.erase(found);
}

std::int64_t Owners::device_of(Handle handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(handle);
  return found == devices_.end() ? no_device : found->second.device;
}

}  // namespace weir::fault
