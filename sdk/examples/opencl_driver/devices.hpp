// SPDX-License-Identifier: Apache-2.0
// Which devices there are, over all of OpenCL's platforms.
#pragma once

#include <weir/driver.h>

#include <vector>

#include "opencl.hpp"

namespace opencl {

struct FoundDevice {
  cl_platform_id platform;
  cl_device_id device;
};

/// Never changes once it was found.
struct FoundDevices {
  std::vector<FoundDevice> devices;
  std::string left_out;  ///< devices that cannot be used and why, one per line, for `weir info`
};

/// Every usable device of every platform, in OpenCL's order. Throws a Failure{NO_LIBRARY} or
/// {NO_DEVICE} that says what is missing; the next call then looks again.
const FoundDevices& all_devices();

/// Fills in all but the bits of those capabilities that are functions.
void describe(const FoundDevice& found, weir_device_info& info);

/// Alignment of every buffer, in bytes; at least 64.
std::uint32_t memory_alignment(cl_device_id device) noexcept;

}  // namespace opencl
