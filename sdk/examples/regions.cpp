// SPDX-License-Identifier: Apache-2.0
// stream_parallel: blocks of one kernel that run at the same time. Statements before and after wait for them.
#include <cmath>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  Kernel step{"step", [](View<float> position, View<float> velocity, View<float> heat, View<std::int32_t> age,
                         View<float> energy, Value<float> dt) {
                // Before the region: complete when the blocks begin.
                range_for(velocity.size(), [&](Index i) { velocity[i] -= 9.81f * dt; });

                // Consecutive blocks form a region. Each keeps its own order; blocks are unordered among each
                // other. Weir refuses blocks if one writes data that another accesses. Reading the same
                // array, like `velocity` here, is allowed.
                stream_parallel(
                    [&] { range_for(position.size(), [&](Index i) { position[i] += velocity[i] * dt; }); });
                stream_parallel([&] {
                  range_for(heat.size(), [&](Index i) { heat[i] *= 0.99f; });
                  range_for(heat.size(),
                            [&](Index i) { heat[i] += abs(velocity[i]) * dt; });  // after the loop above
                });
                stream_parallel([&] {
                  // A block may contain any statements: this one is a sequential task, concurrent with the
                  // other block.
                  Var<std::int32_t> steps = age[0];
                  while_([&] { return steps % 10 != 0; }, [&] { steps += 1; });
                  age[0] = steps + 1;
                });

                // stream_region encloses the blocks of one region. Without it, these two would be blocks of
                // the region above. Blocks may write parts of one array if their indices show that the parts
                // have no common element: here one range ends where the other begins.
                stream_region([&] {
                  const Index half = heat.size() / 2;
                  stream_parallel([&] { range_for(half, [&](Index i) { heat[i] -= 5.0f * dt; }); });
                  stream_parallel(
                      [&] { range_for(range(half, heat.size()), [&](Index i) { heat[i] += 5.0f * dt; }); });
                });

                // After the region: begins when every block is done.
                range_for(energy.size(), [&](Index i) {
                  energy[i] = 9.81f * position[i] + 0.5f * velocity[i] * velocity[i] + heat[i];
                });
              }};

  constexpr std::int64_t n = 100'000;
  auto position = device.array<float>(n), velocity = device.array<float>(n);
  auto heat = device.array<float>(n), energy = device.array<float>(n);
  auto age = device.array<std::int32_t>(1);
  position.fill(100.0f);
  velocity.fill(0.0f);
  heat.fill(20.0f);
  age.fill(0);

  constexpr float dt = 0.01f;
  constexpr int steps = 50;
  for (int s = 0; s < steps; ++s) step(stream, position, velocity, heat, age, energy, dt);

  const std::vector<float> found = energy.to_host();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double source = i < n / 2 ? -5 : 5;
    double p = 100, v = 0, h = 20;
    for (int s = 0; s < steps; ++s) {
      v -= 9.81 * dt, p += v * dt;
      h = h * 0.99 + std::abs(v) * dt + source * dt;
    }
    const double expected = 9.81 * p + 0.5 * v * v + h;
    if (std::abs(found[i] - expected) > 1e-4 * expected) {
      std::fprintf(stderr, "regions: the energy is %.9g, expected %.9g\n", found[i], expected);
      return 1;
    }
  }
  const std::int32_t last = age.to_host()[0];
  if (last != 10 * (steps - 1) + 1) {
    std::fprintf(stderr, "regions: the age is %d, expected %d\n", last, 10 * (steps - 1) + 1);
    return 1;
  }
  std::printf("regions: %d steps are correct\n", steps);
} catch (const Error& error) {
  std::fprintf(stderr, "regions: %s\n", error.what());
  return 1;
}
