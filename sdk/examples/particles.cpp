// SPDX-License-Identifier: Apache-2.0
// Particles as an array of structs, in three layouts: kernels over members and over whole structs.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

struct Charge {
  std::int32_t number;
  float radius;
};

struct Particle {
  Vec<float, 3> position;
  Vec<float, 3> velocity;
  float mass;
  float energies[2];  // of motion, of height
  Charge charge;
};

int main() try {
  Device device = open();
  Stream stream = device.create_stream();

  Kernel fall{"fall", [](View<Particle> particles, Value<float> dt) {
                range_for(particles.size(), [&](Index i) {
                  particles[i][&Particle::velocity][2] -= 9.81f * dt;
                  particles[i][&Particle::position] += particles[i][&Particle::velocity] * dt;
                });
                range_for(particles.size(), [&](Index i) {
                  const Value<Particle> p = particles[i];
                  const Value speed = length(p[&Particle::velocity]);
                  particles[i][&Particle::energies][0] = 0.5f * p[&Particle::mass] * speed * speed;
                  particles[i][&Particle::energies][1] =
                      9.81f * p[&Particle::mass] * p[&Particle::position][2];
                });
              }};
  Kernel reverse{"reverse", [](View<Particle> particles) {
                   range_for(particles.size() / 2, [&](Index i) {
                     const Index j = particles.size() - 1 - i;
                     const Value<Particle> first = particles[i], last = particles[j];
                     particles[i] = last;
                     particles[j] = first;
                   });
                 }};

  std::vector<Particle> start(1000);
  for (std::size_t i = 0; i < start.size(); ++i) {
    const float x = static_cast<float>(i);
    start[i] = {{x, 0, 100}, {0, 1, 0}, 1 + x / 1000, {}, {static_cast<std::int32_t>(i), 0.5f}};
  }

  std::vector<std::vector<Particle>> results;
  for (const Layout& layout : {Layout::struct_of_arrays(), Layout::array_of_structs(), Layout::blocks(32)}) {
    StructArray<Particle> particles(stream, start.size(), layout);
    particles.copy_from(stream, start);
    for (int step = 0; step < 100; ++step) fall(stream, particles, 0.01f);
    reverse(stream, particles);
    results.push_back(particles.to_host(stream));
    const Particle& p = results.back().front();
    std::printf("%s: particle %d is at height %.2f m\n", to_string(layout).c_str(), p.charge.number,
                p.position[2]);
  }

  const Particle& first = results[0].front();
  bool right = first.charge.number == 999 && std::abs(first.position[2] - (100 - 9.81f / 2)) < 0.1f;
  for (const std::vector<Particle>& other : results)  // the struct has no padding
    right = right && std::memcmp(other.data(), results[0].data(), sizeof(Particle) * start.size()) == 0;
  if (!right) std::printf("the layouts differ, or a particle fell wrong\n");
  return right ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
