// SPDX-License-Identifier: Apache-2.0
// Algorithms that are recorded in a graph do in each run what calls on a stream do.
#include "all_algorithms.hpp"

namespace weir::test {
namespace {

TEST(AlgorithmsInGraphs, EachRunDoesWhatCallsOnAStreamDo) {
  const Stream stream = tested().create_stream();
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{777}, std::min<std::size_t>(max_elements(), 20'001)}) {
    const Arrays recorded(stream, n, 1);
    const Results found(stream, n);
    GraphBuilder builder(tested());
    call_all(builder, recorded, found);
    const Graph graph = builder.build();
    for (const std::uint32_t seed : {1u, 50u, 51u}) {
      const Arrays called(stream, n, seed);
      const Results expected(stream, n);
      recorded.keys.copy_from(stream, called.keys);
      recorded.moved.copy_from(stream, called.moved);
      recorded.points.copy_from(stream, called.points);
      recorded.x.copy_from(stream, called.x);
      recorded.f.copy_from(stream, called.f);
      recorded.flags.copy_from(stream, called.flags);
      for (const AnyArrayView& one : std::initializer_list<AnyArrayView>{
               found.chosen, found.parts, found.runs, found.sums, found.scattered})
        one.fill_zero(stream);
      call_all(stream, called, expected);
      graph.launch(stream);
      stream.synchronize();
      SCOPED_TRACE(testing::Message() << n << " elements, seed " << seed);
      expect_same_arrays(recorded, called);
      expect_same_results(found, expected);
    }
  }
}

// A compacted list whose length only the device knows, for a loop of the same graph.
TEST(AlgorithmsInGraphs, OtherCallsFollowThem) {
  const Stream stream = tested().create_stream();
  const std::size_t n = 3000;
  const auto x = upload(stream, small_values<std::int32_t>(n)),
             list = tested().array<std::int32_t>(stream, n);
  const auto keep = tested().array<bool>(stream, n);
  const auto count = tested().array<std::int64_t>(stream, 1);
  const Kernel positive{"positive", [](View<const std::int32_t> x, View<bool> keep) {
                          range_for(x.size(), [&](Index i) { keep[i] = x[i] > 1; });
                        }};
  const Kernel number{"number", [](View<std::int32_t> list, View<const std::int64_t> count) {
                        range_for(list.size(), [&](Index i) {
                          list[i] = select(i < count[0], list[i] * 10, Value<std::int32_t>(-1));
                        });
                      }};
  GraphBuilder builder(tested());
  builder.launch(positive, x, keep);
  compact(builder, x, keep, list, count);
  builder.launch(number, list, count);
  const Graph graph = builder.build();
  graph.launch(stream);
  std::vector<std::int32_t> expected;
  for (const std::int32_t value : x.to_host(stream))
    if (value > 1) expected.push_back(value * 10);
  expected.resize(n, -1);
  EXPECT_EQ(list.to_host(stream), expected);
}

TEST(AlgorithmsInGraphs, ARefusedCallRecordsNothing) {
  const Stream stream = tested().create_stream();
  const auto x = tested().array<std::int32_t>(stream, 10), y = tested().array<std::int32_t>(stream, 9);
  GraphBuilder builder(tested());
  sort(builder, x);
  EXPECT_EQ(thrown_by([&] { inclusive_scan(builder, x, y); }).code(), ErrorCode::invalid);
  const std::size_t calls = builder.build().size();
  GraphBuilder other(tested());
  sort(other, x);
  EXPECT_EQ(calls, other.build().size());
  EXPECT_THAT(thrown_by([&] { sort(other, x); }).what(), testing::HasSubstr("graph builder"));
}

// Sorts by key on CPUs allocate memory for the values after the launches for the keys.
TEST(AlgorithmsInGraphs, WithoutScratchMemoryNothingIsRecorded) {
  if (!std::getenv("WEIR_ALGORITHMS_LITTLE_MEMORY")) GTEST_SKIP() << "needs a device with little memory";
  const Stream stream = tested().create_stream();
  const auto keys = tested().array<std::uint32_t>(stream, 500'000);
  const auto values = tested().array<Vec<double, 4>>(stream, 500'000);
  GraphBuilder builder(tested());
  EXPECT_EQ(thrown_by([&] { sort_by_key(builder, keys, values); }).code(), ErrorCode::out_of_memory);
  EXPECT_EQ(builder.build().size(), 0u);
}

}  // namespace
}  // namespace weir::test
