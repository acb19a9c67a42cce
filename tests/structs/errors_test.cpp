// SPDX-License-Identifier: Apache-2.0
// Messages name the array, the expectation, the finding and the remedy.
#include "support.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

struct StructErrors : testing::Test {
  template <class F>
  static std::string of(F&& call) {
    const Error error = thrown_by(call);
    EXPECT_EQ(error.code(), ErrorCode::invalid) << error.what();
    return error.what();
  }
  Stream stream = tested().create_stream();
  StructArray<Particle> structs{stream, 4, Layout::array_of_structs()};
  StructArray<Particle> arrays{stream, 4};
};

TEST_F(StructErrors, OfSizes) {
  const std::vector<Particle> five(5);
  EXPECT_THAT(of([&] { arrays.copy_from(stream, five); }),
              HasSubstr("a copy needs 4 structs on the host, as the struct array has, but was given 5"));
  of([&] { structs.copy_from(stream, five); });
  of([&] { StructArray<Particle>(stream, -1); });
  EXPECT_THAT(
      of([&] { StructArray<Particle>(stream, std::int64_t{1} << 60); }),
      HasSubstr("structs of " + std::to_string(sizeof(Particle)) + " bytes is larger than any memory"));
  EXPECT_THAT(of([&] { StructArray<Particle>(stream, 5).copy_from(stream, arrays); }),
              HasSubstr("a copy to 5 structs as a struct of arrays from 4 structs as a struct of arrays"));
}

TEST_F(StructErrors, OfLayouts) {
  EXPECT_THAT(of([&] { arrays.copy_from(stream, structs); }),
              HasSubstr("sizes and layouts must match, or copy by a kernel with to[i] = from[i]"));
  EXPECT_THAT(of([&] { StructArray<Particle>(stream, 4, Layout::blocks(4)).member(&Particle::mass); }),
              HasSubstr("a member of a struct array in blocks is no array"));
  EXPECT_THAT(of([&] { Layout::blocks(12); }),
              HasSubstr("blocks of 12 structs; the length of a block is a power of two from 2 to 65536"));
  of([&] { Layout::blocks(1); });
}

TEST_F(StructErrors, OfDebuggedLaunchesNameTheStructAndTheMember) {
  const Kernel races{"races",
                     [](View<Particle> p) {
                       range_for(p.size() - 1, [&](Index i) { p[i / 2 + 2][&Particle::mass] = 1.0f; });
                     },
                     {.debug = true, .parameter_names = {"p"}}};
  for (const Layout& layout : layouts()) {
    const StructArray<Particle> array(stream, 20, layout);
    array.fill_zero(stream);
    EXPECT_THAT(thrown_by([&] { races(stream, array); }).what(),
                HasSubstr("race on (2) of member 3 of the struct array 'p'"))
        << to_string(layout);
  }
}

TEST_F(StructErrors, OfFreedArrays) {
  const Kernel kernel{"use",
                      [](View<float> x, View<Particle> p, View<float> y) {
                        range_for(p.size(), [&](Index i) { p[i][&Particle::mass] = x[i] + y[i]; });
                      },
                      KernelOptions{.parameter_names = {"x", "particles", "y"}}};
  const auto x = tested().array<float>(stream, 4);
  const StructArrayView<Particle> view = structs;
  structs = {};
  EXPECT_THAT(of([&] { kernel(stream, x, view, x); }),
              HasSubstr("kernel 'use', argument 2 ('particles'), member 1: the array does not exist"));
  const Array<float> empty;
  EXPECT_THAT(of([&] { kernel(stream, x, arrays, empty); }),
              HasSubstr("kernel 'use', argument 3 ('y'): the array does not exist"));
  EXPECT_THAT(of([&] { kernel(stream, x, StructArray<Particle>(), x); }), HasSubstr("member 1"));
  of([&] { view.to_host(stream); });
}

TEST_F(StructErrors, OfRecordedCallsWithAnotherLayout) {
  const Kernel kernel{
      "use", [](View<Particle> p) { range_for(p.size(), [&](Index i) { p[i][&Particle::mass] = 1; }); },
      KernelOptions{.parameter_names = {"particles"}}};
  GraphBuilder builder(tested());
  const auto node = builder.launch(kernel, structs);
  Graph graph = builder.build();
  EXPECT_THAT(
      of([&] { graph.update(node, arrays); }),
      HasSubstr("kernel 'use', argument 1 ('particles'): expected a struct array stored as an array of "
                "structs, was given one stored as a struct of arrays; record the call again"));
  graph.launch(stream);
  stream.synchronize();
}

TEST_F(StructErrors, OfBlocksThatShareAnArray) {
  const Kernel kernel{
      "share", [](View<Particle> a, View<Particle> b) {
        stream_parallel([&] { range_for(a.size(), [&](Index i) { a[i][&Particle::mass] = 1; }); });
        stream_parallel([&] {
          range_for(b.size(),
                    [&](Index i) { b[i][&Particle::kind] = cast<std::int32_t>(b[i][&Particle::mass]); });
        });
      }};
  for (const StructArrayView<Particle>& array :
       {StructArrayView<Particle>(structs), StructArrayView<Particle>(arrays)})
    EXPECT_THAT(of([&] { kernel(stream, array, array); }), HasSubstr("share memory"));
}

TEST_F(StructErrors, OfIndicesThatAreConstants) {
  const Error error = thrown_by([] {
    Kernel{"outside",
           [](View<Particle> p) { range_for(p.size(), [&](Index i) { p[i][&Particle::weights][4] = 1; }); }};
  });
  EXPECT_EQ(error.code(), ErrorCode::kernel);
  EXPECT_THAT(error.what(),
              HasSubstr("index 4 is outside the struct's member, an array of 4: indices are 0 to 3"));
}

TEST_F(StructErrors, OfTooManyNames) {
  const Error error = thrown_by([] {
    Kernel{"named", [](View<Particle>) {}, KernelOptions{.parameter_names = {"a", "b"}}};
  });
  EXPECT_THAT(error.what(), HasSubstr("has 2 names for 1 parameters"));
}

// A member with an attribute of its own: only Clang compiles such structs, and it keeps the struct's alignment.
TEST_F(StructErrors, OfMembersThatAreNotAligned) {
  detail::StructMember member;
  member.element = element_type<Vec<float, 3>>;
  member.offset = 1;
  const detail::StructType type{16, {&member, 1}};
  EXPECT_THAT(of([&] { detail::struct_array_bytes(type, Layout::struct_of_arrays(), 1); }),
              HasSubstr("a struct of 16 bytes with a member of vec<f32, 3> at byte 1; members of structs in "
                        "arrays must be aligned, so remove the packing of the struct"));
}

}  // namespace
}  // namespace weir::test
