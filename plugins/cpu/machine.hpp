// SPDX-License-Identifier: Apache-2.0
// What the machine and the environment grant: cores, memory, and the two settings of the driver.
#pragma once

#include <cstdint>
#include <string>

namespace weir::cpu {

struct Machine {
  unsigned cores = 1;    ///< that this process may use: affinity and control group
  unsigned threads = 1;  ///< cores, or WEIR_CPU_THREADS
  unsigned devices = 1;  ///< WEIR_CPU_DEVICES
  std::uint64_t memory = 0;  ///< bytes: physical, or the control group's limit
  std::string name;          ///< of the processor
  std::string vendor;
  std::string refusal;  ///< what is wrong with a setting; empty when nothing is

  static const Machine& get();
  /// Throws a Failure when a setting was refused.
  static const Machine& checked();
};

/// Bytes that the system could still give out.
std::uint64_t available_memory();

}  // namespace weir::cpu
