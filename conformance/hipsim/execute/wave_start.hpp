// SPDX-License-Identifier: Apache-2.0
// The state in which the waves of a launch start: the memory of the launch, and their registers.
#pragma once
#include <cstdint>
#include <memory>

#include "execute/launch.hpp"
#include "isa/state/wave.hpp"

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

/// The address of a wave's private memory: the base of its workgroup, and the wave's offset from it.
struct ScratchPlace {
  std::uint8_t* base = nullptr;
  std::uint32_t offset = 0, bytes_per_lane = 0;
};

/// Sets the registers of a wave as the kernel descriptor requires ("Initial Kernel Execution State" of LLVM's
/// "User Guide for AMDGPU Backend"). The wave's lanes, id, group and rows must be set.
void start_wave(Wave& wave, const Launch& launch, const LaunchMemory& memory, const ScratchPlace& scratch);

}  // namespace weir::hipsim
