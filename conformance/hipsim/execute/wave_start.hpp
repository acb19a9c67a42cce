// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "execute/arguments.hpp"
#include "isa/wave.hpp"

namespace weir::hipsim {

/// Where a wave's private memory lies: the base that the workgroup was given, and the wave's offset in it.
struct ScratchPlace {
  std::uint8_t* base = nullptr;
  std::uint32_t offset = 0, bytes_per_lane = 0;
};

/// Sets the registers of a wave as the kernel descriptor asks ("Initial Kernel Execution State" of LLVM's
/// "User Guide for AMDGPU Backend"). The wave's lanes, id, group and rows are set already.
void start_wave(Wave& wave, const Launch& launch, const LaunchMemory& memory, const ScratchPlace& scratch);

}  // namespace weir::hipsim
