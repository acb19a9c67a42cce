// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace weir::hipsim {

enum class FaultKind : std::uint8_t {
  out_of_bounds,        ///< an address outside every allocation, or across the end of one
  use_after_free,       ///< an address in an allocation that was freed
  unknown_instruction,  ///< one that the simulator does not execute, or bytes that are none
  trap,                 ///< the kernel asked to be stopped
  race,                 ///< two waves of a workgroup on one byte of LDS without a barrier between
  bad_state             ///< a jump to nowhere, waves that wait for each other forever, an impossible launch
};

/// Thrown by an instruction; the executor adds kernel, workgroup, wave, position and disassembly.
struct Fault : std::runtime_error {
  Fault(FaultKind kind, const std::string& what, int lane = -1, std::uint64_t address = 0)
      : std::runtime_error(what), kind(kind), lane(lane), address(address) {}
  FaultKind kind;
  int lane;  ///< -1: all lanes, or none in particular
  std::uint64_t address;
};

}  // namespace weir::hipsim
