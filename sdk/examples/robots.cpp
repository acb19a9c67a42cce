// SPDX-License-Identifier: Apache-2.0
// Batched robots in thousands of environments: twenty small loops per step, which Weir merges into one task.
// The same steps with each loop a task give the same bits.
#include "robots.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <vector>

using namespace weir;
using robots::Robots;

namespace {

constexpr int steps = 50;

struct Figures {
  double microseconds = 0;  // per step
  std::size_t tasks = 0;    // per step
};

// Records 50 steps into a graph. The least time of some runs of it; the first one compiles.
Figures simulate(const Device& device, const Stream& stream,
                 const decltype(Kernel{"", robots::step}) & kernel, Robots& all) {
  GraphBuilder record(device);
  for (int k = 0; k < steps; ++k)
    std::apply([&](const auto&... arrays) { record.launch(kernel, arrays...); }, all.arguments());
  const Graph graph = record.build();

  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int run = 0; run < 4; ++run) {
    all.reset(stream);
    const auto begin = Clock::now();
    graph.launch(stream);
    stream.synchronize();
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return {best / steps, graph.nodes() / steps};
}

}  // namespace

int main() try {
  Device device = open();
  Stream stream = device.create_stream();

  const Kernel merged{"robots", robots::step};
  const Kernel apart{"robots_apart", robots::step, {.fusion = false, .phases = false, .concurrency = false}};
  bool right = true;
  for (const std::int64_t count : {1024, 4096}) {
    Robots some(device, count), same(device, count);
    const Figures one = simulate(device, stream, merged, some), each = simulate(device, stream, apart, same);
    std::printf("robots: %lld, %.1f us per step in tasks: %zu; %.1f us with each loop a task: %zu\n",
                (long long)count, one.microseconds, one.tasks, each.microseconds, each.tasks);

    const std::vector<float> height = some.height.to_host(stream), angle = some.angle.to_host(stream),
                             energy = some.energy.to_host(stream);
    right = right && height == same.height.to_host(stream) && angle == same.angle.to_host(stream) &&
            energy == same.energy.to_host(stream);
    for (const float h : height) right = right && h > 0.0f && h < 0.4f;
    for (const float a : angle) right = right && std::abs(a) <= robots::limit;
  }
  if (!right) std::fprintf(stderr, "robots: the results differ, or a robot is where it cannot be\n");
  return right ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "robots: %s\n", error.what());
  return 1;
}
