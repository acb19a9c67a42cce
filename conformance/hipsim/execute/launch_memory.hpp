// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include "execute/launch.hpp"

namespace weir::hipsim {

/// The memory of a launch: argument segment, dispatch packet and queue block, in this order.
class LaunchMemory {
 public:
  explicit LaunchMemory(const Launch& launch);
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return begin_ + size_; }
  std::uint64_t arguments() const { return begin_; }
  std::uint64_t packet() const { return packet_; }
  std::uint64_t queue() const { return queue_; }

 private:
  std::unique_ptr<std::uint8_t[]> storage_;
  std::uint64_t begin_ = 0, size_ = 0, packet_ = 0, queue_ = 0;
};

}  // namespace weir::hipsim
