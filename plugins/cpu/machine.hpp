// SPDX-License-Identifier: Apache-2.0
// The resources that the machine and the environment grant: cores, memory, and the settings of the
// driver.
#pragma once

#include <cstdint>
#include <string>

namespace weir::cpu {

struct Machine {
  unsigned cores = 1;        ///< available to this process: affinity and control group
  unsigned threads = 1;      ///< cores, or WEIR_CPU_THREADS
  unsigned devices = 1;      ///< WEIR_CPU_DEVICES
  unsigned perf_map = 0;     ///< WEIR_CPU_PERF_MAP: 1 if a map of the kernels' names is written
  std::uint64_t memory = 0;  ///< bytes: physical, or the control group's limit
  std::string name;          ///< of the processor
  std::string vendor;
  std::string target;   ///< LLVM's -mcpu for kernels: WEIR_CPU_TARGET, or that of the processor
  std::string refusal;  ///< the fault of a setting; empty when there is none

  static const Machine& get();
  /// Throws a Failure when a setting is invalid.
  static const Machine& checked();
};

/// Bytes that the system can still allocate.
std::uint64_t available_memory();

}  // namespace weir::cpu
