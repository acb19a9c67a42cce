// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "execute/launch_memory.hpp"
#include "isa/state/wave.hpp"

namespace weir::hipsim {

/// The address of a wave's private memory: the base of its workgroup, and the wave's offset from it.
struct ScratchPlace {
  std::uint8_t* base = nullptr;
  std::uint32_t offset = 0, bytes_per_lane = 0;
};

/// Sets the registers of a wave as the kernel descriptor requires ("Initial Kernel Execution State" of LLVM's
/// "User Guide for AMDGPU Backend"). The wave's lanes, id, group and rows must be set.
void start_wave(Wave& wave, const Launch& launch, const LaunchMemory& memory, const ScratchPlace& scratch);

}  // namespace weir::hipsim
