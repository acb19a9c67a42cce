// SPDX-License-Identifier: Apache-2.0
// Measures a whole process as users experience it: opens the device in WEIR_DEVICE (default: the CPU), builds
// a small new kernel, runs it and reads the result. With the argument "robots", the kernel is a step of robots
// of 20 loops. Prints the seconds from the device being ready, with a stream and the arrays, to the result.
#include <weir/weir.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <vector>

#include "../../sdk/examples/robots.hpp"

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
  return count > 1 && std::string_view(words[1]) == "robots" ? step_of_robots(device, stream)
                                                             : scale(device, stream);
}
