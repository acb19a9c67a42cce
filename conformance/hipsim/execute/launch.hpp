// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "code/code_object.hpp"
#include "isa/workgroup.hpp"

namespace weir::hipsim {

/// What is wrong with a launch before it starts; empty if nothing.
struct LaunchShape {
  std::uint32_t grid[3] = {1, 1, 1};   ///< in workgroups
  std::uint32_t block[3] = {1, 1, 1};  ///< in workitems
  std::uint32_t dynamic_lds = 0;       ///< bytes
};

enum class RaceCheck : std::uint8_t { off, report, error };

/// One launch of a kernel, with everything that its waves need.
struct Launch {
  std::shared_ptr<const CodeObject> code;
  const Kernel* kernel = nullptr;
  LaunchShape shape;
  std::vector<std::uint8_t> arguments;  ///< what the program passed; hidden arguments are added
  const MemoryTable* memory = nullptr;
  RaceCheck races = RaceCheck::report;
  std::uint64_t instruction_limit = 0;  ///< for each wave; 0: none
  std::uint32_t stack_bytes = 0;        ///< for each lane, where a kernel's need is not known
};

/// What was found while a launch ran.
struct LaunchResult {
  bool failed = false;
  FaultKind kind = FaultKind::bad_state;
  std::string message;               ///< of the first fault
  std::vector<std::string> reports;  ///< races that are no errors
  std::uint64_t instructions = 0;    ///< executed, by waves
};

/// Executes a launch on this thread and the workers of the simulator. Ends early at the first fault.
LaunchResult execute(const Launch& launch);

/// Starts workers, so that launches have `count` threads besides their own. Called once, before the first
/// launch.
void set_worker_count(unsigned count);

}  // namespace weir::hipsim
