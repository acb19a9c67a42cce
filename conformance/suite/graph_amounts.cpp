// SPDX-License-Identifier: Apache-2.0
// Level 5: fills of nodes in every width and many sizes, and many graphs at once.
#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(
    5, 95, Graphs, PatternsRepeatInEverySize,
    "Fill nodes repeat patterns of each size over ranges from 16 bytes to more than 4 MiB, and touch nothing "
    "around them, also after an update.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint64_t sizes[] = {16, 1024, 65'536, 65'552, 300'000, 1u << 20, (4u << 20) + 16};
  constexpr std::uint64_t around = 16, largest = (4u << 20) + 16;
  const Memory memory(largest + 2 * around);
  const Stream stream;
  for (const std::uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    const Bytes patterns[] = {pattern(width, width), pattern(width, 100 + width)};
    Bytes expected(memory.size(), 7);
    fill<std::uint8_t>(stream, memory, 0, memory.size(), 7);
    for (const std::uint64_t size : sizes) {
      GraphNodes nodes;
      nodes.fill_bytes(memory, around, size, patterns[0].data(), width, {});
      const Graph graph = nodes.make();
      for (const Bytes& repeated : patterns) {
        if (&repeated != patterns) {
          GraphNodes changed;
          changed.fill_bytes(memory, around, size, repeated.data(), width, {});
          changed.update(graph, 0);
        }
        launch(graph, stream);
        stream.synchronize();
        for (std::uint64_t i = 0; i < size; ++i) expected[around + i] = repeated[i % width];
        const std::uint64_t seen = size + 2 * around;
        ASSERT_TRUE(same_bytes(memory.read(0, seen), {expected.data(), seen}))
            << "a graph with one fill of " << size << " bytes at byte " << around << " with a pattern of "
            << width << " bytes ran" << (&repeated != patterns ? " after an update" : "")
            << ". driver.h: a fill repeats its pattern over the range. Look first at how graph_create and "
               "graph_update keep the pattern";
      }
    }
  }
}

WEIR_REQUIREMENT(5, 98, Graphs, AThousandAtOnce, "1,000 graphs exist at once, and each runs its own nodes.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint64_t count = 1000;
  const Memory memory(4 * count);
  memory.write(Bytes(4 * count, 0));
  const Stream stream;
  std::vector<Graph> graphs;
  for (std::uint64_t i = 0; i < count; ++i) {
    GraphNodes nodes;
    nodes.fill<std::uint32_t>(memory, 4 * i, 4, static_cast<std::uint32_t>(i + 1));
    graphs.push_back(nodes.make());
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    launch(graphs[i], stream);
    if (i % 100 == 99) stream.synchronize();  // with 500 outstanding, a driver may block
  }
  stream.synchronize();
  std::vector<std::uint32_t> expected(count);
  for (std::uint64_t i = 0; i < count; ++i) expected[i] = static_cast<std::uint32_t>(i + 1);
  EXPECT_EQ(memory.values<std::uint32_t>(), expected)
      << "1,000 graphs were made, each with a fill of a word of its own, and launched. Look first at where "
         "graph_create keeps a graph's nodes";
}

}  // namespace
}  // namespace weir::conformance
