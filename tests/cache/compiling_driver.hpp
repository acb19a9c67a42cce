// SPDX-License-Identifier: Apache-2.0
// A driver whose vendor's runtime compiles code objects: the CPU driver, which takes its own format for
// source text. Machine code has the number of the build that compiled it, and other builds refuse it.
//
// From the environment, at each call: VENDOR_VERSION, the version of the vendor's runtime (1); VENDOR_BUILD
// (1; 0 loads no machine code); VENDOR_COMPILES (1; 0: its bit is clear, which the host must observe).
#pragma once

namespace compiling_driver {

/// The calls of this process.
struct Counts {
  int compilations = 0, machine_code_loads = 0, source_loads = 0;
};

}  // namespace compiling_driver

extern "C" const compiling_driver::Counts* compiling_driver_counts();
