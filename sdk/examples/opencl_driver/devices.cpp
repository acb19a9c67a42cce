// SPDX-License-Identifier: Apache-2.0
#include "devices.hpp"

#include <cstdio>
#include <mutex>

namespace opencl {
namespace {

std::vector<cl_platform_id> platforms() {
  cl_uint count = 0;
  const cl_int code = api.clGetPlatformIDs(0, nullptr, &count);
  if (code == platform_not_found || (code == CL_SUCCESS && count == 0))
    sdk::fail(WEIR_ERROR_NO_DEVICE,
              "libOpenCL.so.1 is installed, but no implementation of OpenCL; the loader searches "
              "/etc/OpenCL/vendors and the folder that OCL_ICD_VENDORS names");
  check(code, "list its platforms");
  std::vector<cl_platform_id> found(count);
  check(api.clGetPlatformIDs(count, found.data(), nullptr), "list its platforms");
  return found;
}

std::vector<cl_device_id> devices_of(cl_platform_id platform) {
  cl_uint count = 0;
  const cl_int code = api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && count == 0)) return {};
  check(code, "list a platform's devices");
  std::vector<cl_device_id> found(count);
  check(api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, found.data(), nullptr),
        "list a platform's devices");
  return found;
}

/// The reason why a device cannot be used; "" if it can.
std::string trouble_with(cl_device_id device) {
  int major = 0, minor = 0;
  const std::string version = device_text(device, CL_DEVICE_VERSION);  // "OpenCL 1.2 ..."
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
    return "has '" + version + "', OpenCL 1.2 or newer is needed";
  if (!device_value<cl_bool>(device, CL_DEVICE_AVAILABLE)) return "is not available";
  if (!device_value<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE)) return "has no compiler for OpenCL C";
  if (!device_value<cl_bool>(device, CL_DEVICE_ENDIAN_LITTLE)) return "is big-endian";
  return "";
}

FoundDevices find() {
  open_library();
  FoundDevices out;
  std::string seen;
  for (cl_platform_id platform : platforms()) {
    const std::string name = platform_text(platform, CL_PLATFORM_NAME);
    seen += (seen.empty() ? "" : ", ") + name;
    for (cl_device_id device : devices_of(platform)) {
      if (const std::string trouble = trouble_with(device); trouble.empty())
        out.devices.push_back({platform, device});
      else
        out.left_out += (out.left_out.empty() ? "" : "\n") + device_text(device, CL_DEVICE_NAME) + " of " +
                        name + " is left out: it " + trouble;
    }
  }
  if (out.devices.empty())
    sdk::fail(WEIR_ERROR_NO_DEVICE, "OpenCL has no device that can be used; platforms: %.200s%s%.600s",
              seen.c_str(), out.left_out.empty() ? "" : "; ", out.left_out.c_str());
  return out;
}

}  // namespace

const FoundDevices& all_devices() {
  static std::mutex mutex;
  static const FoundDevices* found = nullptr;
  std::lock_guard lock(mutex);
  if (!found) found = new FoundDevices(find());
  return *found;
}

}  // namespace opencl
