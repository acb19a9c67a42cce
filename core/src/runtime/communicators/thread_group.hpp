// SPDX-License-Identifier: Apache-2.0
// The state that the ranks of a group share in memory, because all of them are threads of this process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include <weir/device.hpp>

namespace weir::detail {

class ThreadGroup {
 public:
  /// Adds a rank with its device, before it joins the group `address`. All ranks of a group get one object.
  static std::shared_ptr<ThreadGroup> enter(const std::string& address, std::uint32_t rank,
                                            std::uint32_t size, const std::optional<Device>& device);
  /// Returns the device of each rank. Called after the join, which returns when all ranks have entered. Later
  /// groups may have the same address.
  std::vector<std::optional<Device>> complete(const std::string& address);

 private:
  std::mutex mutex_;
  std::vector<std::optional<Device>> devices_;
};

}  // namespace weir::detail
