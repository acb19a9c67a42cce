// SPDX-License-Identifier: Apache-2.0
// The usable devices of all OpenCL platforms.
#pragma once

#include <weir/driver.h>

#include <vector>

#include "opencl.hpp"

namespace opencl {

struct FoundDevice {
  cl_platform_id platform;
  cl_device_id device;
};

/// Immutable after the first successful search.
struct FoundDevices {
  std::vector<FoundDevice> devices;
  std::string left_out;  ///< unusable devices and the reasons, one per line, for `weir info`
};

/// Every usable device of every platform, in OpenCL's order. Throws a Failure{NO_LIBRARY} or {NO_DEVICE} that
/// names the missing part; the next call then searches again.
const FoundDevices& all_devices();

/// Fills in all fields, except for the bits of capabilities that are functions.
void describe(const FoundDevice& found, weir_device_info& info);

/// Alignment of every buffer, in bytes; at least 64.
std::uint32_t memory_alignment(cl_device_id device) noexcept;

}  // namespace opencl
