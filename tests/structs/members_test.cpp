// SPDX-License-Identifier: Apache-2.0
// Members of aggregates, found at compile time.
#include "support.hpp"

namespace weir::test {
namespace {

using detail::member_count;
using detail::MemberType;

struct One {
  float x;
};
struct OnlyAnArray {
  float x[3][2];
};
struct WithHalves {
  half a;
  half b[2];
  Vec<half, 3> c;
  float d;
};
struct Most {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D, E, F;
};
struct Long {
  float a;
  float b[300];
  double c[10][30];
  half d;
  half e[7];
  Nested f[40];
  std::array<float, 5000> g;
};
struct WithPointer {
  float* x;
};
enum class Kind { solid };
struct WithEnum {
  Kind kind;
};
struct WithConstructor {
  explicit WithConstructor(int);
};
struct Deep {
  float x[2][2][2][2];
};

static_assert(member_count<Particle> == 12 && member_count<Nested> == 2 && member_count<One> == 1);
static_assert(member_count<OnlyAnArray> == 1 && member_count<WithHalves> == 4 && member_count<Most> == 32);
static_assert(member_count<Long> == 7 && MemberType<Long>::elements == 8);
static_assert(MemberType<Particle>::elements == 14);
static_assert(MemberType<Particle>::scalars == 3 + 3 + 1 + 1 + 4 + 1 + 1 + 3 * 7 + 6 + 4 + 1);
static_assert(MemberType<Particle>::supported && MemberType<WithHalves>::supported);
static_assert(!MemberType<WithPointer>::supported && !MemberType<WithEnum>::supported);
static_assert(MemberType<Deep>::rank == 4 && MemberType<Particle>::rank == 3);
static_assert(KernelStruct<Particle> && KernelStruct<WithPointer>);
static_assert(!KernelStruct<WithConstructor> && !KernelStruct<float> && !KernelStruct<half>);
static_assert(!KernelStruct<Vec<float, 3>> && !KernelStruct<std::array<float, 3>> &&
              !KernelStruct<std::string>);

TEST(Members, HaveTheOffsetsOfTheHostsStruct) {
  const auto& members = detail::struct_type<Particle>().members;
  EXPECT_EQ(detail::struct_type<Particle>().size_bytes, sizeof(Particle));
  const std::vector<std::size_t> expected = {offsetof(Particle, position),
                                             offsetof(Particle, velocity),
                                             offsetof(Particle, mass),
                                             offsetof(Particle, kind),
                                             offsetof(Particle, weights),
                                             offsetof(Particle, alive),
                                             offsetof(Particle, flags),
                                             offsetof(Particle, inner) + offsetof(Nested, energy),
                                             offsetof(Particle, inner) + offsetof(Nested, cell),
                                             offsetof(Particle, pair) + offsetof(Nested, energy),
                                             offsetof(Particle, pair) + offsetof(Nested, cell),
                                             offsetof(Particle, corners),
                                             offsetof(Particle, stress),
                                             offsetof(Particle, id)};
  ASSERT_EQ(members.size(), expected.size());
  for (std::size_t m = 0; m < members.size(); ++m) EXPECT_EQ(members[m].offset, expected[m]) << m;
}

TEST(Members, OfArraysHaveExtentsAndStrides) {
  const detail::StructMember& cell = detail::struct_type<Particle>().members[10];  // pair[a].cell[b][c]
  EXPECT_EQ(cell.rank, 3);
  EXPECT_THAT(cell.extents, testing::ElementsAre(2, 2, 3));
  EXPECT_THAT(cell.strides, testing::ElementsAre(sizeof(Nested), 6, 2));
  EXPECT_EQ(cell.element, element_type<std::int16_t>);
  EXPECT_EQ(detail::member_offset(&Particle::pair), offsetof(Particle, pair));
}

}  // namespace
}  // namespace weir::test
