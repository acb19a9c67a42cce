// SPDX-License-Identifier: Apache-2.0
// Gravity among bodies, with vectors as array elements and a device function.
#include <cmath>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;
using Vec3 = Vec<float, 3>;  // on the host; Value<Vec3> in a kernel

// Plain C++ functions over values are device functions; they become part of the kernels that call them.
static Value<Vec3> pull(Value<Vec3> from, Value<Vec3> to, Value<float> mass) {
  Value<Vec3> d = to - from;
  Value<float> r2 = dot(d, d) + 1e-3f;  // softened, so that a body does not pull itself
  Value<float> r = sqrt(r2);
  return d * (mass / (r2 * r));
}

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  Kernel step{"step", [](View<Vec3> position, View<Vec3> velocity, View<const float> mass, Value<float> dt) {
                range_for(position.size(), [&](Index i) {
                  Value<Vec3> here =
                      position[i];  // read once; `auto here = position[i]` would be a reference
                  Var<Vec3> force;  // initialised to zero; a Var may change, a Value never does
                  for_(0, position.size(), [&](Index j) { force += pull(here, position[j], mass[j]); });
                  velocity[i] += force * dt;
                });
                // A separate loop: it begins when all forces have been computed.
                range_for(position.size(), [&](Index i) { position[i] += velocity[i] * dt; });
              }};

  constexpr int n = 512, steps = 20;
  std::vector<Vec3> start(n);
  std::vector<float> masses(n);
  for (int i = 0; i < n; ++i) {
    const float t = static_cast<float>(i);
    start[i] = {std::sin(12.9f * t), std::sin(78.2f * t), std::sin(37.7f * t)};
    masses[i] = (1.0f + static_cast<float>(i % 3)) / n;
  }
  auto position = device.array_of<Vec3>(start);
  auto mass = device.array_of<float>(masses);
  auto velocity = device.array<Vec3>(n);
  velocity.fill(Vec3{});
  for (int s = 0; s < steps; ++s) step(stream, position, velocity, mass, 0.01f);

  // Forces cancel in pairs, so the momentum stays zero while the cloud collapses.
  const std::vector<Vec3> speed = velocity.to_host();
  double momentum[3] = {}, moving = 0;
  for (int i = 0; i < n; ++i) {
    for (int c = 0; c < 3; ++c) {
      momentum[c] += double(masses[i]) * double(speed[i][c]);
      moving += std::abs(double(masses[i]) * double(speed[i][c]));
    }
  }
  const double left = std::abs(momentum[0]) + std::abs(momentum[1]) + std::abs(momentum[2]);
  if (!(moving > 0.01) || left > 1e-5 * moving) {
    std::fprintf(stderr, "nbody: momentum %g of %g is left, expected none\n", left, moving);
    return 1;
  }
  std::printf("nbody: %d bodies, momentum conserved to %.1e of its scale\n", n, left / moving);
} catch (const Error& error) {
  std::fprintf(stderr, "nbody: %s\n", error.what());
  return 1;
}
