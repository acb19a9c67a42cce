// SPDX-License-Identifier: Apache-2.0
// Structs in kernels: members, nested structs, arrays, and whole structs, in every layout.
#include <algorithm>

#include "support.hpp"

namespace weir::test {
namespace {

using Elements = InLayout;
WEIR_IN_LAYOUTS(Elements);

constexpr std::size_t count = 45;

TEST_P(Elements, MembersAreReadAndWritten) {
  const Kernel step{"step", [](View<Particle> p, Value<float> dt) {
                      range_for(p.size(), [&](Index i) {
                        p[i][&Particle::position] += p[i][&Particle::velocity] * dt;
                        p[i][&Particle::velocity][1] = 3;
                        p[i][&Particle::kind] = cast<std::int32_t>(i);
                        p[i][&Particle::alive] = p[i][&Particle::mass] > 0;
                        p[i][&Particle::flags] = p[i][&Particle::flags] + 1;
                        p[i][&Particle::stress](1, 0) = p[i][&Particle::stress](0, 1);
                        p(i)[&Particle::id] *= 3;
                      });
                    }};
  std::vector<Particle> expected = make_particles(count);
  const StructArray<Particle> array = upload(stream, expected, layout);
  step(stream, array, 0.25f);
  for (std::size_t i = 0; i < count; ++i) {
    Particle& p = expected[i];
    for (std::size_t c = 0; c < 3; ++c) p.position[c] += p.velocity[c] * 0.25f;
    p.velocity[1] = 3;
    p.kind = static_cast<std::int32_t>(i);
    p.alive = p.mass > 0;
    p.flags = static_cast<std::uint8_t>(p.flags + 1);
    p.stress(1, 0) = p.stress(0, 1);
    p.id *= 3;
  }
  EXPECT_EQ(array.to_host(stream), expected);
}

TEST_P(Elements, StructsAreSwappedAndAssignedInAChain) {
  const Kernel exchange{"exchange", [](View<Particle> p, View<Particle> q) {
                          range_for(p.size() / 2, [&](Index i) {
                            swap(p[i], p[p.size() - 1 - i]);
                            swap(p[i][&Particle::velocity][0], p[i][&Particle::velocity][2]);
                            q[2 * i] = q[2 * i + 1] = p[i];
                          });
                        }};
  std::vector<Particle> expected = make_particles(count), copied = expected;
  const StructArray<Particle> array = upload(stream, expected, layout), copies = upload(stream, copied, layout);
  exchange(stream, array, copies);
  std::ranges::reverse(expected);
  for (std::size_t i = 0; i < count / 2; ++i) {
    std::swap(expected[i].velocity[0], expected[i].velocity[2]);
    copied[2 * i] = copied[2 * i + 1] = expected[i];
  }
  EXPECT_EQ(array.to_host(stream), expected);
  EXPECT_EQ(copies.to_host(stream), copied);
}

TEST_P(Elements, NestedStructsAndArraysHaveMembers) {
  const Kernel nested{"nested", [](View<Particle> p) {
                        range_for(p.size(), [&](Index i) {
                          p[i][&Particle::inner][&Nested::energy] += 0.5;
                          p[i][&Particle::inner][&Nested::cell][1][2] = -1;
                          p[i][&Particle::pair][1][&Nested::energy] =
                              p[i][&Particle::pair][0][&Nested::energy];
                          const Index k = i % 2, l = i % 3, w = i % 4;
                          p[i][&Particle::weights][w] = 100;
                          p[i][&Particle::pair][k][&Nested::cell][k][l] = 7;
                          p[i][&Particle::corners][l][1] = 9;
                          for_(0, 3, [&](Index c) { p[i][&Particle::weights][c] *= 2; });
                        });
                      }};
  std::vector<Particle> expected = make_particles(count);
  const StructArray<Particle> array = upload(stream, expected, layout);
  nested(stream, array);
  for (std::size_t i = 0; i < count; ++i) {
    Particle& p = expected[i];
    p.inner.energy += 0.5;
    p.inner.cell[1][2] = -1;
    p.pair[1].energy = p.pair[0].energy;
    p.weights[i % 4] = 100;
    p.pair[i % 2].cell[i % 2][i % 3] = 7;
    p.corners[i % 3][1] = 9;
    for (int c = 0; c < 3; ++c) p.weights[c] *= 2;
  }
  EXPECT_EQ(array.to_host(stream), expected);
}

TEST_P(Elements, WholeStructsAreReadAndWritten) {
  const Kernel reverse{"reverse", [](View<Particle> p) {
                         range_for(p.size() / 2, [&](Index i) {
                           const Index j = p.size() - 1 - i;
                           const Value<Particle> first = p[i];
                           const Value last = p[j];
                           p[i] = last;
                           p[j] = first;
                         });
                       }};
  std::vector<Particle> expected = make_particles(count);
  const StructArray<Particle> array = upload(stream, expected, layout);
  reverse(stream, array);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(array.to_host(stream), expected);
}

TEST_P(Elements, PartsOfStructsAreValues) {
  const Kernel parts{"parts", [](View<Particle> p, View<double> out) {
                       range_for(p.size(), [&](Index i) {
                         const Value<Particle> v = p[i];
                         const Value<Nested> inner = v[&Particle::inner];
                         const Value<Nested> other = p[i][&Particle::pair][1];
                         const Value weights = v[&Particle::weights];
                         out[i] = inner[&Nested::energy] + other[&Nested::energy] +
                                  cast<double>(weights[2] + v[&Particle::velocity][1]) +
                                  cast<double>(v[&Particle::pair][0][&Nested::cell][1][0]);
                         p[i][&Particle::inner] = other;
                         p[i][&Particle::weights] = weights;
                         p[i][&Particle::pair][1] = Nested{2.5, {{1, 2, 3}, {4, 5, 6}}};
                       });
                     }};
  std::vector<Particle> expected = make_particles(count);
  const StructArray<Particle> array = upload(stream, expected, layout);
  const auto out = tested().array<double>(stream, count);
  parts(stream, array, out);
  const std::vector<double> sums = out.to_host(stream);
  for (std::size_t i = 0; i < count; ++i) {
    Particle& p = expected[i];
    EXPECT_EQ(sums[i], p.inner.energy + p.pair[1].energy + double(p.weights[2] + p.velocity[1]) +
                           p.pair[0].cell[1][0]);
    p.inner = p.pair[1];
    p.pair[1] = Nested{2.5, {{1, 2, 3}, {4, 5, 6}}};
  }
  EXPECT_EQ(array.to_host(stream), expected);
}

struct Halved {
  half one;
  half two[2];
  Vec<half, 3> three;
};

TEST_P(Elements, HalvesAreComputedAsFloat) {
  const Kernel halves{"halves", [](View<Halved> x) {
                        range_for(x.size(), [&](Index i) {
                          const Value whole = x[i];
                          x[i][&Halved::one] = whole[&Halved::one] * 2;
                          x[i][&Halved::two][1] = whole[&Halved::three][2];
                          x[i][&Halved::three][0] += 1;
                        });
                      }};
  std::vector<Halved> expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto h = [&](int k) { return half(static_cast<float>(i) / 4 + static_cast<float>(k)); };
    expected[i] = {h(0), {h(1), h(2)}, {h(3), h(4), h(5)}};
  }
  const StructArray<Halved> array = upload(stream, expected, layout);
  halves(stream, array);
  for (Halved& x : expected) {
    x.one = half(float(x.one) * 2);
    x.two[1] = x.three[2];
    x.three[0] = half(float(x.three[0]) + 1);
  }
  const std::vector<Halved> result = array.to_host(stream);
  EXPECT_EQ(std::memcmp(result.data(), expected.data(), count * sizeof(Halved)), 0);
}

TEST_P(Elements, AtomicsAndReductionsTakeMembers) {
  const Kernel sums{"sums", [](View<Particle> p, View<std::int32_t> out) {
                      const Value<std::int32_t> kinds =
                          reduce_sum(p.size(), [&](Index i) { return p[i][&Particle::kind]; });
                      out[0] = kinds;
                      range_for(p.size(),
                                [&](Index i) { atomic_add(p[0][&Particle::kind], cast<std::int32_t>(i)); });
                    }};
  std::vector<Particle> expected = make_particles(count);
  const StructArray<Particle> array = upload(stream, expected, layout);
  const auto out = tested().array<std::int32_t>(stream, 1);
  sums(stream, array, out);
  std::uint32_t sum = 0;
  for (const Particle& p : expected) sum += static_cast<std::uint32_t>(p.kind);
  EXPECT_EQ(static_cast<std::uint32_t>(out.to_host(stream)[0]), sum);
  expected[0].kind =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(expected[0].kind) + count * (count - 1) / 2);
  EXPECT_EQ(array.to_host(stream), expected);
}

TEST_P(Elements, FunctionsTakeWholeStructs) {
  const Function energy{"energy", [](Value<Particle> p) {
                          return p[&Particle::mass] * dot(p[&Particle::velocity], p[&Particle::velocity]);
                        }};
  const Kernel kernel{"energies", with_constants([&](View<const Particle> p, View<float> out) {
                        range_for(p.size(), [&](Index i) { out[i] = energy(p[i]); });
                      })};
  const std::vector<Particle> particles = make_particles(count);
  const StructArray<Particle> array = upload(stream, particles, layout);
  const auto out = tested().array<float>(stream, count);
  kernel(stream, array, out);
  const std::vector<float> energies = out.to_host(stream);
  for (std::size_t i = 0; i < count; ++i) {
    const Vec<float, 3>& v = particles[i].velocity;
    EXPECT_EQ(energies[i], particles[i].mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
  }
}

}  // namespace
}  // namespace weir::test
