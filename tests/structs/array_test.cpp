// SPDX-License-Identifier: Apache-2.0
// Uploads, downloads, copies, members as arrays, and the padding of structs.
#include "support.hpp"

namespace weir::test {
namespace {

using InLayouts = InLayout;
WEIR_IN_LAYOUTS(InLayouts);

TEST_P(InLayouts, StructsComeBackAsTheyWent) {
  for (const std::size_t count : {0, 1, 2, 15, 16, 17, 100}) {
    const std::vector<Particle> particles = make_particles(count);
    const StructArray<Particle> array = upload(stream, particles, layout);
    EXPECT_EQ(array.size(), count);
    EXPECT_EQ(array.layout(), layout);
    EXPECT_EQ(array.to_host(stream), particles) << count;
  }
}

TEST_P(InLayouts, ArraysAreCopiedOnTheDevice) {
  const std::vector<Particle> particles = make_particles(33);
  const StructArray<Particle> from = upload(stream, particles, layout);
  const StructArray<Particle> to(stream, 33, layout);
  to.copy_from(stream, from);
  EXPECT_EQ(to.to_host(stream), particles);
  to.fill_zero(stream);
  EXPECT_EQ(to.to_host(stream), std::vector<Particle>(33));
}

TEST_P(InLayouts, TheCurrentStreamIsTheDefault) {
  const std::vector<Particle> particles = make_particles(5);
  const StructArray<Particle> array(tested(), 5, layout);
  array.copy_from(particles);
  EXPECT_EQ(array.to_host(), particles);
}

TEST_P(InLayouts, OwnersAreMoved) {
  const std::vector<Particle> particles = make_particles(5);
  StructArray<Particle> from = upload(stream, particles, layout);
  const StructArrayView<Particle> view = from;
  StructArray<Particle> to = std::move(from);
  EXPECT_FALSE(from.alive());
  EXPECT_EQ(from.size(), 0u);
  EXPECT_TRUE(view.alive());
  EXPECT_EQ(view.to_host(stream), particles);
  to = StructArray<Particle>();
  EXPECT_FALSE(view.alive());
}

TEST(StructArrays, OfArraysOfStructsHaveTheBytesOfTheHost) {
  const Stream stream = tested().create_stream();
  std::vector<Particle> particles(9);
  std::memset(static_cast<void*>(particles.data()), 0xa5, particles.size() * sizeof(Particle));
  for (Particle& p : particles) p.alive = true;
  const StructArray<Particle> array = upload(stream, particles, Layout::array_of_structs());
  EXPECT_EQ(array.bytes().size(), 9 * sizeof(Particle));
  const std::vector<std::uint8_t> bytes = array.bytes().to_host(stream);
  EXPECT_EQ(std::memcmp(bytes.data(), particles.data(), bytes.size()), 0);
}

TEST(StructArrays, KernelsLeaveThePaddingOfStructsAlone) {
  const Stream stream = tested().create_stream();
  std::vector<Particle> particles(4);
  std::memset(static_cast<void*>(particles.data()), 0x5a, particles.size() * sizeof(Particle));
  const StructArray<Particle> array = upload(stream, particles, Layout::array_of_structs());
  const Kernel zero{"zero",
                    [](View<Particle> p) { range_for(p.size(), [&](Index i) { p[i] = Particle{}; }); }};
  zero(stream, array);
  const std::vector<std::uint8_t> bytes = array.bytes().to_host(stream);
  constexpr std::size_t gap = offsetof(Particle, flags) + 1;
  static_assert(gap < offsetof(Particle, inner));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(bytes[i * sizeof(Particle) + gap], 0x5a);
    EXPECT_EQ(bytes[i * sizeof(Particle) + gap - 1], 0);
    EXPECT_EQ(bytes[i * sizeof(Particle) + offsetof(Particle, inner)], 0);
  }
}

class MembersAsArrays : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Of, MembersAsArrays,
                         testing::Values(Layout::struct_of_arrays(), Layout::array_of_structs()),
                         [](const auto& test) { return test.index == 0 ? "arrays" : "structs"; });

TEST_P(MembersAsArrays, HoldTheValuesOfTheStructs) {
  const Stream stream = tested().create_stream();
  const std::vector<Particle> particles = make_particles(20);
  const StructArray<Particle> array = upload(stream, particles, GetParam());
  const ArrayView<float> mass = array.member(&Particle::mass);
  const ArrayView<Vec<float, 3>> velocity = array.member(&Particle::velocity);
  const ArrayView<float, 2> weights = array.member(&Particle::weights);
  const ArrayView<double> energy = array.member(&Particle::inner, &Nested::energy);
  const ArrayView<std::int16_t, 4> cells = array.member(&Particle::pair, &Nested::cell);
  EXPECT_EQ(weights.extent(1), 4);
  EXPECT_EQ(cells.extent(3), 3);
  const auto masses = mass.to_host(stream);
  const auto velocities = velocity.to_host(stream);
  const auto all_weights = weights.to_host(stream);
  const auto energies = energy.to_host(stream);
  const auto all_cells = cells.to_host(stream);
  for (std::size_t i = 0; i < particles.size(); ++i) {
    EXPECT_EQ(masses[i], particles[i].mass);
    EXPECT_EQ(velocities[i], particles[i].velocity);
    EXPECT_EQ(all_weights[4 * i + 3], particles[i].weights[3]);
    EXPECT_EQ(energies[i], particles[i].inner.energy);
    EXPECT_EQ(all_cells[12 * i + 6 + 3 + 2], particles[i].pair[1].cell[1][2]);
  }
  if (!mass.contiguous()) {
    EXPECT_EQ(GetParam(), Layout::array_of_structs());
    EXPECT_EQ(thrown_by([&] { sort(stream, mass); }).code(), ErrorCode::unsupported);
    cells.fill(stream, std::int16_t{-7});
    std::vector<Particle> expected = particles;
    for (Particle& particle : expected)
      for (Nested& nested : particle.pair)
        for (auto& row : nested.cell)
          for (std::int16_t& cell : row) cell = -7;
    EXPECT_EQ(array.to_host(stream), expected);
    return;
  }
  sort(stream, mass);
  auto expected = masses;
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(mass.to_host(stream), expected);
  EXPECT_EQ(array.to_host(stream)[7].mass, expected[7]);
}

TEST(StructArrays, LayoutsAreConvertedByAKernel) {
  const Stream stream = tested().create_stream();
  const std::vector<Particle> particles = make_particles(37);
  const Kernel convert{"convert", [](View<const Particle> from, View<Particle> to) {
                         range_for(from.size(), [&](Index i) { to[i] = from[i]; });
                       }};
  for (const Layout& one : layouts()) {
    for (const Layout& other : layouts()) {
      const StructArray<Particle> from = upload(stream, particles, one), to(stream, 37, other);
      convert(stream, from, to);
      EXPECT_EQ(to.to_host(stream), particles) << to_string(one) << " to " << to_string(other);
    }
  }
}

}  // namespace
}  // namespace weir::test
