// SPDX-License-Identifier: Apache-2.0
// The configuration of the simulator, a JSON file. The environment variable HIPSIM_CONFIG names the file; the
// default is one gfx90a. All members are optional:
//
//   {
//     "hip_version": "6.3.0",               result of hipRuntimeGetVersion and hipDriverGetVersion
//     "devices": [{
//       "arch": "gfx90a",                   any architecture of LLVM from gfx900 on
//       "name": "AMD Instinct MI210",
//       "compute_units": 104,
//       "memory_mib": 1024,                 allocations beyond it fail with hipErrorOutOfMemory
//       "wave_size": 64,                    for the device's properties; code objects name their own
//       "xnack": false, "sramecc": true,    target features, for gcnArchName and loading code
//       "integrated": false,
//       "memory_pools": true                false: hipMallocAsync fails with hipErrorNotSupported
//     }],
//     "missing": ["hipLaunchHostFunc"],     these fail with hipErrorNotSupported
//     "fail": [{"call": "hipMalloc", "nth": 3, "error": 2, "times": 1, "late": false}],
//                                           from the third call of hipMalloc on, "times" calls fail (0: all);
//                                           late: the work that a call enqueues fails instead
//     "races": "report",                    on LDS: "off", "report" (write a report) or "error" (the launch
//                                           fails too)
//     "quarantine_mib": 64,                 freed memory that is kept, so that use after free is detected
//     "instruction_limit": 0,               per wave; a launch that exceeds it fails with
//                                           hipErrorLaunchFailure; 0: no limit
//     "stack_bytes": 16384,                 per lane, for kernels of unknown stack size
//     "one_lock": false,                    true: calls that do not wait for work take one lock, also while they
//                                           wait for work to free memory, and callbacks run one at a time, as
//                                           CUDA's driver does
//     "threads": 0,                         workers that execute workgroups; 0: one per processor
//     "code_objects": "folder",             folder to which each loaded code object is written
//     "report": "stderr"                    destination of fault and race reports: "stderr", "none" or a path
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
  bool xnack = false, sramecc = true, integrated = false, memory_pools = true,
       cooperative_launch = true;
  /// As in gcnArchName: "gfx90a:sramecc+:xnack-".
  std::string target_name() const;
};

struct FailureConfig {
  std::string call;
  std::uint64_t nth = 1, times = 1;
  int error = 0;
  bool late = false;  ///< the call succeeds, and its work on the stream breaks the device with the error
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
  bool one_lock = false;
  std::string report = "stderr";
  std::string code_objects;  ///< a folder, or ""
};

/// Parses the text of a configuration. Throws std::runtime_error that names the faulty member.
Config parse_config(const std::string& json);
/// The configuration that HIPSIM_CONFIG names, or the default. Throws std::runtime_error.
Config load_config();

}  // namespace weir::hipsim
