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
#include "isa/state/workgroup.hpp"

namespace weir::hipsim {

/// Grid, block and dynamic LDS of a launch.
struct LaunchShape {
  std::uint32_t grid[3] = {1, 1, 1};   ///< in workgroups
  std::uint32_t block[3] = {1, 1, 1};  ///< in workitems
  std::uint32_t dynamic_lds = 0;       ///< bytes
};

enum class RaceCheck : std::uint8_t { off, report, error };

/// One launch of a kernel, with all inputs of its waves.
struct Launch {
  std::shared_ptr<const CodeObject> code;
  const Kernel* kernel = nullptr;
  LaunchShape shape;
  std::vector<std::uint8_t> arguments;  ///< of the program; hidden arguments are added later
  const MemoryTable* memory = nullptr;
  RaceCheck races = RaceCheck::report;
  std::uint64_t instruction_limit = 0;  ///< for each wave; 0: none
  std::uint32_t stack_bytes = 0;        ///< for each lane, if a kernel's need is unknown
  bool cooperative = false;             ///< its workgroups take turns, so that they may wait for each other
};

/// The outcome of a launch.
struct LaunchResult {
  bool failed = false;
  FaultKind kind = FaultKind::bad_state;
  std::string message;               ///< of the first fault
  std::vector<std::string> reports;  ///< races that do not fail the launch
  std::uint64_t instructions = 0;    ///< executed, by waves
};

/// Executes a launch on this thread and the simulator's workers. Stops at the first fault.
LaunchResult execute(const Launch& launch);

/// Starts worker threads, which help the threads of launches. Must be called once, before the first launch.
void set_worker_count(unsigned count);

}  // namespace weir::hipsim
