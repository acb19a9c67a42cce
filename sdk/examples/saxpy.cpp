// SPDX-License-Identifier: Apache-2.0
// y = a * x + y: the smallest complete program.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  // The device that WEIR_DEVICE names ("cpu", "cuda:1"), else the best device of the installed drivers.
  Device device = open();
  std::printf("saxpy: on %s, %s\n", device.name().c_str(), device.info().name.c_str());

  // The lambda runs once, here, and records the kernel's statements. Compilation happens at the first launch.
  Kernel saxpy{"saxpy", [](View<const float> x, View<float> y, Value<float> a) {
                 range_for(y.size(), [&](Index i) { y[i] = a * x[i] + y[i]; });
               }};

  Stream stream = device.create_stream();
  CurrentStream scope{stream};  // calls without a stream use this one until the end of main

  constexpr std::size_t n = 1 << 20;
  Array<float> x = device.array<float>(n);  // uninitialised until something is stored
  Array<float> y = device.array<float>(n);
  x.fill(2.0f);
  y.fill(1.0f);

  saxpy(stream, x, y, 3.0f);  // submits the launch and returns; the stream keeps the order

  const std::vector<float> result = y.to_host();  // waits for the current stream, then copies
  for (std::size_t i = 0; i < n; ++i) {
    if (result[i] != 7.0f) {
      std::fprintf(stderr, "saxpy: y[%zu] is %g, expected 7\n", i, result[i]);
      return 1;
    }
  }
  std::printf("saxpy: %zu elements are correct\n", n);
} catch (const Error& error) {  // the only exception type that Weir throws
  std::fprintf(stderr, "saxpy: %s\n", error.what());
  return 1;
}
