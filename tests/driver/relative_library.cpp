// SPDX-License-Identifier: Apache-2.0
// A program that found libweir by a relative path, as with LD_LIBRARY_PATH=lib, and then changed its folder:
// the drivers and the code generator are where libweir is.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <weir/drivers.hpp>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

int main() try {
  using namespace weir;
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&driver_search_path), &info) || info.dli_fname[0] == '/') {
    std::fprintf(stderr, "libweir was found at %s; expected a relative path\n", info.dli_fname);
    return 1;
  }
  if (chdir("/") != 0) return 1;
  const Device device = weir::open("cpu");
  if (chdir("/tmp") != 0) return 1;
  const Kernel kernel{"relative", [](View<float> x) {
    range_for(x.size(), [&](Index i) { x[i] = cast<float>(i) * 3.0f; });
  }};
  const auto x = device.array<float>(4);
  kernel(device.default_stream(), x);
  return x.to_host(device.default_stream())[3] == 9.0f ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
