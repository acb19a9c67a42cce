// SPDX-License-Identifier: Apache-2.0
#include "owners.hpp"

namespace weir::fault {

void Owners::open(weir_device device, std::uint32_t index) {
  const std::lock_guard lock(mutex_);
  devices_[handle(device)] = index;
}

void Owners::add(Handle made, Handle owner) {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(owner);
  devices_[made] = found == devices_.end() ? nobody : found->second;
}

void Owners::remove(Handle gone) {
  const std::lock_guard lock(mutex_);
  devices_.erase(gone);
}

std::int64_t Owners::device_of(Handle handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(handle);
  return found == devices_.end() ? nobody : found->second;
}

}  // namespace weir::fault
