// SPDX-License-Identifier: Apache-2.0
// Measures a whole process as users experience it: opens the device in WEIR_DEVICE (default: the CPU), builds
// a small new kernel, runs it and reads the result.
#include <weir/weir.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main() {
  using namespace weir;
  const char* name = std::getenv("WEIR_DEVICE");
  Device device = open(name && *name ? name : "cpu");
  Kernel scale{"scale", [](View<float> x, Value<float> factor) {
    range_for(x.size(), [&](Index i) { x[i] = x[i] * factor + 1.0f; });
  }};
  Stream stream = device.create_stream();
  CurrentStream scope{stream};
  auto x = device.array<float>(1000);
  x.copy_from(stream, std::vector<float>(1000, 2.0f));
  scale(stream, x, 3.0f);
  const std::vector<float> result = x.to_host(stream);
  if (result[999] != 7.0f) {
    std::fprintf(stderr, "expected 7, found %g\n", static_cast<double>(result[999]));
    return 1;
  }
}
