// SPDX-License-Identifier: Apache-2.0
// What the simulator imitates, as a JSON file says. The environment variable HIPSIM_CONFIG names the file;
// without it there is one gfx90a. All members are optional:
//
//   {
//     "hip_version": "6.3.0",               what hipRuntimeGetVersion and hipDriverGetVersion say
//     "devices": [{
//       "arch": "gfx90a",                   any architecture of LLVM's from gfx900 on
//       "name": "AMD Instinct MI210",
//       "compute_units": 104,
//       "memory_mib": 1024,                 more is refused with hipErrorOutOfMemory
//       "wave_size": 64,                    as in the device's properties; code decides for itself
//       "xnack": false, "sramecc": true,    features of the target, in gcnArchName and for loading code
//       "integrated": false,
//       "memory_pools": true                false: hipMallocAsync fails with hipErrorNotSupported
//     }],
//     "missing": ["hipLaunchHostFunc"],     these fail with hipErrorNotSupported
//     "fail": [{"call": "hipMalloc", "nth": 3, "error": 2, "times": 1, "late": false}],
//                                           the third call of hipMalloc and those after it, "times" in all
//                                           (0: ever); late: what the call puts on its stream fails
//     "races": "report",                    of LDS: "off", "report" (on the report stream), "error" (the
//                                           launch fails)
//     "quarantine_mib": 64,                 how much freed memory is kept, so that use after free is
//                                           recognised
//     "instruction_limit": 0,               for each wave; beyond it a launch fails with
//                                           hipErrorLaunchFailure; 0: none
//     "stack_bytes": 16384,                 for each lane of kernels whose stack is not known
//     "threads": 0,                         that execute workgroups; 0: one for each processor
//     "code_objects": "folder",             where each code object that is loaded is kept as a file
//     "report": "stderr"                    where faults and races are written: "stderr", "none" or a path
//   }
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "execute/launch.hpp"

namespace weir::hipsim {

struct DeviceConfig {
  std::string name = "Simulated AMD Instinct", architecture = "gfx90a";
  int compute_units = 104, wave_size = 64;
  std::uint64_t memory_bytes = 1ull << 30;
  bool xnack = false, sramecc = true, integrated = false, memory_pools = true;
  /// As in gcnArchName: "gfx90a:sramecc+:xnack-".
  std::string target_name() const;
};

struct FailureConfig {
  std::string call;
  std::uint64_t nth = 1, times = 1;
  int error = 0;
  bool late = false;  ///< the call goes well, and what it put on its stream breaks the device with the error
};

struct Config {
  int version_major = 6, version_minor = 3, version_patch = 0;
  std::vector<DeviceConfig> devices{DeviceConfig{}};
  std::vector<std::string> missing;
  std::vector<FailureConfig> failures;
  RaceCheck races = RaceCheck::report;
  std::uint64_t quarantine_bytes = 64ull << 20, instruction_limit = 0;
  std::uint32_t stack_bytes = 16384;
  unsigned threads = 0;
  std::string report = "stderr";
  std::string code_objects;  ///< a folder, or ""
};

/// Reads the text of a configuration. Throws std::runtime_error that names what is wrong in it.
Config parse_config(const std::string& json);
/// The file that HIPSIM_CONFIG names, or the default. Throws std::runtime_error.
Config load_config();

}  // namespace weir::hipsim
