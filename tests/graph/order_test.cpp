// SPDX-License-Identifier: Apache-2.0
// Automatic concurrency of the calls of a graph: which edges its nodes have, and the results of random
// graphs.
#include <random>

#include "support.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Edges = std::vector<std::vector<std::uint32_t>>;

constexpr std::int64_t elements = 4096;  // a serial loop over them takes longer than two wake-ups of a thread

/// One thread adds to each element of x an element of y and `by`, in order: a call that leaves cores idle.
const auto& add_in_order() {
  static const Kernel kernel{"add in order",
                             [](View<std::int32_t> x, View<std::int32_t> y, Value<std::int32_t> by) {
                               for_(0, elements,
                                    [&](Index i) { x[i] = x[i] * 3 + y[elements - 1 - i] + by; });
                             },
                             {.parameter_names = {"x", "y", "by"}}};
  return kernel;
}

class Order : public testing::Test {
 protected:
  Device device = Watch::open();
  Stream stream = device.create_stream();
  std::vector<Array<std::int32_t>> arrays;

  explicit Order(int count = 4) {
    for (int i = 0; i < count; ++i) {
      arrays.push_back(device.array<std::int32_t>(stream, elements));
      arrays.back().fill(stream, i);
    }
  }
  void SetUp() override {
    if (device.info().multiprocessors < 2) GTEST_SKIP() << "one core gains nothing from concurrency";
  }
  /// The edges of the driver's graph after a launch.
  Edges edges_of(const Graph& graph) const {
    graph.launch(stream);
    stream.synchronize();
    return Watch::get().last_graph();
  }
  static std::uint64_t graphs() { return Watch::get().count("graph_create"); }
};

TEST_F(Order, CallsFollowThoseWhoseMemoryTheyShare) {
  GraphBuilder builder(device);
  builder.launch(add_in_order(), arrays[0], arrays[3], 1);
  builder.launch(add_in_order(), arrays[1], arrays[3], 1);  // both read array 3
  builder.launch(add_in_order(), arrays[0], arrays[1], 1);
  builder.launch(add_in_order(), arrays[2], arrays[3], 1);
  builder.launch(add_in_order(), arrays[3], arrays[0], 1);
  EXPECT_THAT(edges_of(builder.build()),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1), IsEmpty(), ElementsAre(2, 3)));
}

TEST_F(Order, PartsOfOneArrayAreSeparateMemory) {
  static const Kernel kernel{"halves", [](View<std::int32_t> x) {
                               for_(0, 20'000, [&](Index i) { x[i % x.size()] = x[i % x.size()] * 3 + 1; });
                             }};
  GraphBuilder builder(device);
  builder.launch(kernel, arrays[0].slice(0, 2048));
  builder.launch(kernel, arrays[0].slice(2048, 4096));
  builder.launch(kernel, arrays[0].slice(2047, 2049));
  EXPECT_THAT(edges_of(builder.build()), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1)));
}

TEST_F(Order, CallsAreInOrderWithWhatFollowsThem) {
  GraphBuilder builder(device);
  builder.launch(add_in_order(), arrays[0], arrays[3], 1);
  builder.launch(add_in_order(), arrays[1], arrays[3], 1);
  builder.parallel([&] { builder.launch(add_in_order(), arrays[0], arrays[3], 1); },
                   [&] { builder.launch(add_in_order(), arrays[1], arrays[3], 1); });
  builder.launch(add_in_order(), arrays[2], arrays[3], 1);
  const Edges edges = edges_of(builder.build());
  ASSERT_EQ(edges.size(), 5u);
  EXPECT_THAT(edges[2], ElementsAre(0, 1));
  EXPECT_THAT(edges[3], ElementsAre(0, 1));
  EXPECT_THAT(edges[4], ElementsAre(2, 3));
}

TEST_F(Order, ShortCallsStayInOrder) {
  static const Kernel kernel{"short", [](View<std::int32_t> x) { x[0] = x[0] + 1; }};
  GraphBuilder builder(device);
  for (int i = 0; i < 3; ++i) builder.launch(kernel, arrays[static_cast<std::size_t>(i)]);
  if (device.info().kind != DeviceKind::cpu) {  // branches of a GPU's graph cost nothing
    EXPECT_THAT(edges_of(builder.build()), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
    return;
  }
  EXPECT_THAT(edges_of(builder.build()), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1)));
}

TEST_F(Order, CallsWhoseOrderShowsKeepIt) {
  static constexpr auto count = [](View<std::int32_t> x) {
    for_(0, elements, [&](Index i) { x[i] = x[i] * 3 + 1; });
  };
  static const Kernel asserts{"asserts", [](View<std::int32_t> x) {
                                count(x);
                                assert_(x[0] >= -1, "never");
                              }};
  static const Kernel kept{"kept", count, {.concurrency = false}};
  const Kernels kernels(device);
  GraphBuilder builder(device);
  builder.launch(asserts, arrays[0]);
  builder.launch(asserts, arrays[1]);
  builder.launch(kept, arrays[2]);
  builder.launch(add_in_order(), arrays[3], arrays[3], 1);
  const auto log = device.array<std::uint32_t>(stream, 100);
  log.fill(stream, 0);
  builder.launch(kernels.append, LaunchShape{}, {log, 1u});
  const Edges edges = edges_of(builder.build());
  for (std::uint32_t i = 1; i < edges.size(); ++i) EXPECT_THAT(edges[i], ElementsAre(i - 1)) << i;
}

TEST_F(Order, CopiesShareMemoryOfTheHostToo) {
  constexpr std::int64_t many = elements * 64;  // copying them takes longer than two wake-ups
  std::vector<std::byte> host(2 * many * sizeof(std::int32_t));
  const std::span<std::byte> first(host.data(), host.size() / 2),
      second = std::span(host).subspan(host.size() / 2);
  const auto a = device.array<std::int32_t>(stream, many), b = device.array<std::int32_t>(stream, many),
             c = device.array<std::int32_t>(stream, many);
  a.fill(stream, 0);  // copied to the host
  GraphBuilder builder(device);
  builder.copy_to_bytes(a, first);
  builder.copy_from_bytes(b, second);
  builder.copy_from_bytes(c, first);
  builder.copy(b, a);
  EXPECT_THAT(edges_of(builder.build()), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0), ElementsAre(1)));
}

TEST_F(Order, UpdatesThatShareMemoryPutCallsInOrder) {
  GraphBuilder builder(device);
  builder.launch(add_in_order(), arrays[0], arrays[3], 1);
  const auto second = builder.launch(add_in_order(), arrays[1], arrays[3], 1);
  Graph graph = builder.build();
  EXPECT_THAT(edges_of(graph), ElementsAre(IsEmpty(), IsEmpty()));
  graph.update(second, arrays[1], arrays[2], 2);  // another array, but none that the first call writes
  EXPECT_THAT(edges_of(graph), ElementsAre(IsEmpty(), IsEmpty()));
  graph.update(second, arrays[1], arrays[0], 3);
  EXPECT_THAT(edges_of(graph), ElementsAre(IsEmpty(), ElementsAre(0)));
  const std::uint64_t before = graphs();
  for (int i = 0; i < 3; ++i) {
    graph.update(second, arrays[1], arrays[3], 1);
    graph.launch(stream);
    graph.update(second, arrays[1], arrays[0], 1);
    graph.launch(stream);
  }
  EXPECT_EQ(graphs(), before) << "updates that alternate make no new graphs";
}

TEST_F(Order, LongRowsAreCut) {
  GraphBuilder builder(device);
  for (int i = 0; i < 150; ++i)
    builder.launch(add_in_order(), arrays[static_cast<std::size_t>(i % 3)], arrays[3], i);
  const Edges edges = edges_of(builder.build());
  ASSERT_EQ(edges.size(), 150u);
  EXPECT_THAT(edges[63], ElementsAre(60));
  EXPECT_THAT(edges[64], ElementsAre(61, 62, 63)) << "the second row follows the first";
  std::vector<std::int32_t> expected(elements);
  for (std::uint32_t call = 0; call < 150; call += 3)
    for (std::int32_t& value : expected)
      value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) * 3 + 3 + call);
  EXPECT_EQ(arrays[0].to_host(stream), expected);
}

// Random rows of calls, with random updates, compared with the same calls on a stream.
TEST_F(Order, RandomGraphsDoWhatTheirCallsDo) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const int rounds = rounds_of(40);
  int concurrent = 0;
  for (int round = 0; round < rounds; ++round) {
    Array<std::int32_t> graphs_memory[3], streams_memory[3];
    for (int i = 0; i < 3; ++i)
      for (Array<std::int32_t>* memory : {&graphs_memory[i], &streams_memory[i]}) {
        *memory = device.array<std::int32_t>(stream, 3 * elements);
        memory->fill(stream, i);
      }
    struct Part {
      std::size_t array;
      std::int64_t begin;
    };
    const auto part = [&] { return Part{below(3), static_cast<std::int64_t>(below(5)) * elements / 2}; };
    struct Call {
      Part to, from;
      std::int32_t by;
      GraphLaunch<void(View<std::int32_t>, View<std::int32_t>, Value<std::int32_t>)> node;
    };
    std::vector<Call> calls;
    GraphBuilder builder(device);
    const auto view = [&](Array<std::int32_t>* memory, const Part& of) {
      return memory[of.array].slice(of.begin, of.begin + elements);
    };
    for (std::size_t i = 0, count = 2 + below(12); i < count; ++i) {
      calls.push_back({part(), part(), static_cast<std::int32_t>(random() % 100), {}});
      calls.back().node = builder.launch(add_in_order(), view(graphs_memory, calls.back().to),
                                         view(graphs_memory, calls.back().from), calls.back().by);
    }
    Graph graph = builder.build();
    for (int run = 0; run < 4; ++run) {
      if (run) {
        Call& call = calls[below(calls.size())];
        call.to = part();
        call.by += run;
        graph.update(call.node, view(graphs_memory, call.to), view(graphs_memory, call.from), call.by);
      }
      graph.launch(stream);
      if (run == 0) {
        const Edges edges = Watch::get().last_graph();
        std::uint32_t chained = 1;
        while (chained < edges.size() && edges[chained] == std::vector<std::uint32_t>{chained - 1}) ++chained;
        concurrent += chained < edges.size();
      }
      for (const Call& call : calls)
        add_in_order()(stream, view(streams_memory, call.to), view(streams_memory, call.from), call.by);
      for (int i = 0; i < 3; ++i)
        ASSERT_EQ(graphs_memory[i].to_host(stream), streams_memory[i].to_host(stream))
            << "round " << round << ", run " << run << ", array " << i;
    }
  }
  EXPECT_GE(concurrent, rounds / 4) << "too few graphs had concurrent calls for a meaningful result";
}

// The CPU driver's arrays are memory of the host, which a copy may name as such.
TEST_F(Order, AnArraysMemoryMayBeMemoryOfTheHost) {
  if (device.info().kind != DeviceKind::cpu) GTEST_SKIP() << "only a CPU's arrays are memory of the host";
  constexpr std::int64_t many = elements * 64;
  const auto a = device.array<std::int32_t>(stream, many), b = device.array<std::int32_t>(stream, many),
             c = device.array<std::int32_t>(stream, many);
  const auto* const memory = reinterpret_cast<const std::byte*>(a.device_address());
  c.fill(stream, 7);
  GraphBuilder builder(device);
  constexpr std::int64_t half = many / 2, half_bytes = half * std::int64_t{sizeof(std::int32_t)};
  builder.copy(a.slice(half, many), c.slice(half, many));
  builder.copy_from_bytes(b.slice(0, half), {memory, half_bytes});
  builder.copy_from_bytes(b.slice(half, many), {memory + half_bytes, half_bytes});
  EXPECT_THAT(edges_of(builder.build()), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0)));
  EXPECT_EQ(b.to_host(stream)[many - 1], 7);
}

TEST_F(Order, UpdatesToALargerPartOfTheSameArrayPutCallsInOrder) {
  constexpr std::int64_t many = elements * 64, half = many / 2;
  const auto x = device.array<std::int32_t>(stream, many), y = device.array<std::int32_t>(stream, many),
             z = device.array<std::int32_t>(stream, many);
  GraphBuilder builder(device);
  const GraphNode node = builder.copy(x.slice(0, half), y.slice(0, half));
  builder.copy(x.slice(half, many), z.slice(half, many));
  Graph graph = builder.build();
  EXPECT_THAT(edges_of(graph), ElementsAre(IsEmpty(), IsEmpty()));
  graph.update_copy(node, x, y);
  EXPECT_THAT(edges_of(graph), ElementsAre(IsEmpty(), ElementsAre(0)));
}

}  // namespace
}  // namespace weir::test
