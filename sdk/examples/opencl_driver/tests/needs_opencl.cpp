// SPDX-License-Identifier: Apache-2.0
// needs-opencl COMMAND...: runs the command if OpenCL has a device. Otherwise prints the reason and exits
// with 77, which CTest counts as skipped. It queries OpenCL directly, so that a driver that fails to find a
// device cannot skip its tests.
#include <CL/cl.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int skipped = 77;
constexpr int not_run = 127;

// The reason why OpenCL has no device; "" if it has one.
std::string why_no_device() {
  void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
  const auto platforms_of = reinterpret_cast<decltype(&clGetPlatformIDs)>(dlsym(library, "clGetPlatformIDs"));
  const auto devices_of = reinterpret_cast<decltype(&clGetDeviceIDs)>(dlsym(library, "clGetDeviceIDs"));
  if (!platforms_of || !devices_of)
    return "";  // installed but broken: the command's own message is more
                // specific
  cl_uint count = 0;
  platforms_of(0, nullptr, &count);
  if (count == 0) return "no implementation of OpenCL is installed";
  std::vector<cl_platform_id> platforms(count);
  platforms_of(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    cl_uint devices = 0;
    devices_of(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    if (devices > 0) return "";
  }
  return "no implementation of OpenCL has a device";
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: needs-opencl COMMAND...\n", stderr);
    return 2;
  }
  if (const std::string why = why_no_device(); !why.empty()) {
    std::fprintf(stderr,
                 "SKIPPED: %s; install one, such as Debian's pocl-opencl-icd and ocl-icd-libopencl1\n",
                 why.c_str());
    return skipped;
  }
  execvp(words[1], words + 1);
  std::perror(words[1]);
  return not_run;
}
