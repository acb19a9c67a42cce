// SPDX-License-Identifier: Apache-2.0
// Structs of every kind of member, and their comparison member by member.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>
#include <weir/weir.hpp>

#include "tested_device.hpp"
#include "thrown_by.hpp"

namespace weir::test {

/// The device under test, open until the program ends.
inline Device tested() {
  static const Device device = open(tested_device());
  return device;
}

struct Nested {
  double energy;
  std::int16_t cell[2][3];
  bool operator==(const Nested&) const = default;
};

/// 2 bytes of padding after `alive` and 4 before `inner`.
struct Particle {
  Vec<float, 3> position;
  Vec<float, 3> velocity;
  float mass;
  std::int32_t kind;
  float weights[4];
  bool alive;
  std::uint8_t flags;
  Nested inner;
  Nested pair[2];
  std::array<Vec<std::int16_t, 2>, 3> corners;
  Mat<float, 2, 2> stress;
  std::uint64_t id;
  bool operator==(const Particle&) const = default;
};

/// Every layout, with blocks that the sizes in tests fill and do not fill.
inline std::vector<Layout> layouts() {
  return {Layout::array_of_structs(), Layout::struct_of_arrays(), Layout::blocks(2), Layout::blocks(16)};
}

inline Nested make_nested(std::mt19937_64& bits) {
  Nested nested{static_cast<double>(bits() % 1000) / 8, {}};
  for (auto& row : nested.cell)
    for (std::int16_t& cell : row) cell = static_cast<std::int16_t>(bits());
  return nested;
}

inline std::vector<Particle> make_particles(std::size_t count) {
  std::mt19937_64 bits(7);
  const auto number = [&] {
    return static_cast<float>(static_cast<std::int64_t>(bits() % 2000) - 1000) / 16;
  };
  std::vector<Particle> particles(count);
  for (Particle& p : particles) {
    p.position = {number(), number(), number()};
    p.velocity = {number(), number(), number()};
    p.mass = number();
    p.kind = static_cast<std::int32_t>(bits());
    for (float& weight : p.weights) weight = number();
    p.alive = bits() % 2 != 0;
    p.flags = static_cast<std::uint8_t>(bits());
    p.inner = make_nested(bits);
    for (Nested& nested : p.pair) nested = make_nested(bits);
    for (auto& corner : p.corners)
      corner = {static_cast<std::int16_t>(bits()), static_cast<std::int16_t>(bits())};
    p.stress = {number(), number(), number(), number()};
    p.id = bits();
  }
  return particles;
}

template <class T>
StructArray<T> upload(const StreamRef& stream, const std::vector<T>& structs, const Layout& layout) {
  StructArray<T> array(stream, structs.size(), layout);
  array.copy_from(stream, structs);
  return array;
}

/// One test for each layout.
struct InLayout : testing::TestWithParam<Layout> {
  Layout layout = GetParam();
  Stream stream = tested().create_stream();
};
#define WEIR_IN_LAYOUTS(fixture)                                                                        \
  INSTANTIATE_TEST_SUITE_P(Layouts, fixture, testing::ValuesIn(layouts()), [](const auto& info) {       \
    const Layout layout = info.param;                                                                   \
    if (layout.kind() == Layout::Kind::blocks) return "blocks" + std::to_string(layout.block_length()); \
    return std::string(layout.kind() == Layout::Kind::structs ? "structs" : "arrays");                  \
  })

}  // namespace weir::test
