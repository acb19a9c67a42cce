// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace weir::hipsim {

enum class FaultKind : std::uint8_t {
  out_of_bounds,        ///< an address outside of every allocation, or an access that exceeds one
  use_after_free,       ///< an address in an allocation that was freed
  unknown_instruction,  ///< one that the simulator cannot execute, or bytes that are no instruction
  trap,                 ///< the kernel executed s_trap
  race,                 ///< two waves of a workgroup accessed one byte of LDS without a barrier in between
  bad_state             ///< an invalid jump, waves that wait for each other forever, an impossible launch
};

/// Thrown by an instruction. The executor adds kernel, workgroup, wave, position and disassembly.
struct Fault : std::runtime_error {
  Fault(FaultKind kind, const std::string& what, int lane = -1, std::uint64_t address = 0)
      : std::runtime_error(what), kind(kind), lane(lane), address(address) {}
  FaultKind kind;
  int lane;  ///< -1: all lanes, or no particular one
  std::uint64_t address;
};

}  // namespace weir::hipsim
