// SPDX-License-Identifier: Apache-2.0
// Measures a whole process as users experience it: opens the device in WEIR_DEVICE (default: the CPU), builds
// a small new kernel, runs it and reads the result. The argument "loops" names a kernel of 20 loops, and "robots"
// a step of robots, which has 20 longer ones. Prints the seconds from the device being ready, with a stream and the arrays, to the result.
#include <weir/weir.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <vector>

#include "chain_kernels.hpp"

namespace {

using namespace weir;
using Clock = std::chrono::steady_clock;

/// Prints the seconds since `ready` if the result is right.
int report(Clock::time_point ready, float expected, float found) {
  if (!(found == expected)) {
    std::fprintf(stderr, "expected %g, found %g\n", static_cast<double>(expected),
                 static_cast<double>(found));
    return 1;
  }
  std::printf("%.9f\n", std::chrono::duration<double>(Clock::now() - ready).count());
  return 0;
}

int scale(const Device& device, const Stream& stream) {
  auto x = device.array<float>(1000);
  x.copy_from(stream, std::vector<float>(1000, 2.0f));
  stream.synchronize();
  const auto ready = Clock::now();
  Kernel scale{"scale", [](View<float> x, Value<float> factor) {
    range_for(x.size(), [&](Index i) { x[i] = x[i] * factor + 1.0f; });
  }};
  scale(stream, x, 3.0f);
  return report(ready, 7.0f, x.to_host(stream)[999]);
}

int twenty_loops(const Device& device, const Stream& stream) {
  const auto x = device.array<float>(1000), y = device.array<float>(1000);
  x.fill(stream, 1.0f);
  stream.synchronize();
  const auto ready = Clock::now();
  const Kernel loops{"loops", [](View<float> x, View<float> y) {
    for (int k = 0; k < 10; ++k) bench::reverse_twice(x, y);
  }};
  loops(stream, x, y);
  float expected = 1.0f;
  for (int k = 0; k < 10; ++k) expected = expected * 1.5f * 0.5f + 1.0f;
  return report(ready, expected, x.to_host(stream)[999]);
}

int step_of_robots(const Device& device, const Stream& stream) {
  robots::Robots some(device, 4096);
  some.reset(stream);
  const std::vector<float> before = some.rise.to_host(stream);
  const auto ready = Clock::now();
  const Kernel step{"step", robots::step};
  std::apply([&](auto&... arrays) { step(stream, arrays...); }, some.arguments());
  const std::vector<float> rise = some.rise.to_host(stream);
  // A foot of robot 0 is above the ground, so that it falls freely.
  return report(ready, before[0] - robots::dt * robots::gravity, rise[0]);
}

}  // namespace

int main(int count, char** words) {
  const char* name = std::getenv("WEIR_DEVICE");
  const Device device = open(name && *name ? name : "cpu");
  const Stream stream = device.create_stream();
  CurrentStream scope{stream};
  const std::string_view kernel = count > 1 ? words[1] : "";
  return kernel == "robots" ? step_of_robots(device, stream)
         : kernel == "loops" ? twenty_loops(device, stream)
                             : scale(device, stream);
}
