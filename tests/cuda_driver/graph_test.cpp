// SPDX-License-Identifier: Apache-2.0
#include "fake.hpp"

namespace cuda_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FakeGraph : public Fake {
 protected:
  FakeGraph() {
    module = load(device, ".entry one_1(.param .u64 x) {} .entry two() {}");
    one = find(module, "one_1", 8);
    memory = allocate(device, 64);
    other = allocate(device, 64);
  }
  ~FakeGraph() override {
    weir_status status = new_status();
    table().module_unload(module, &status);
    table().memory_free(memory, &status);
    table().memory_free(other, &status);
  }

  static weir_graph_node node(std::uint32_t kind) {
    weir_graph_node out{};
    out.struct_size = sizeof out;
    out.kind = kind;
    return out;
  }
  weir_graph_node fill(const void* pattern, std::uint32_t size) const {
    weir_graph_node out = node(WEIR_GRAPH_FILL);
    out.destination = memory;
    out.size = 64;
    out.pattern = pattern;
    out.pattern_size = size;
    return out;
  }
  weir_graph_node copy(std::uint32_t kind) const {
    weir_graph_node out = node(kind);
    out.size = 64;
    return out;
  }
  weir_graph create(std::vector<weir_graph_node> nodes) {
    std::vector<const weir_graph_node*> pointers;
    for (const weir_graph_node& one_node : nodes) pointers.push_back(&one_node);
    weir_graph out = nullptr;
    call(table().graph_create, device, static_cast<std::uint32_t>(nodes.size()), pointers.data(), &out);
    return out;
  }

  weir_module module = nullptr;
  weir_kernel one = nullptr;
  weir_allocation memory = nullptr, other = nullptr;
};

TEST_F(FakeGraph, NodesBecomeThoseOfCudaInTheirOrder) {
  const std::uint64_t argument = 0x1122334455667788;
  const std::uint32_t first[] = {0}, both[] = {0, 1};
  const double pattern = 1.0;
  const weir_launch launch = launch_of(one, &argument, 8, 5, 64);
  std::vector<int> in(16, 3), out(16);
  weir_graph_node upload = copy(WEIR_GRAPH_COPY_TO_DEVICE), kernel = node(WEIR_GRAPH_KERNEL),
                  filled = fill(&pattern, 8), move = copy(WEIR_GRAPH_COPY_ON_DEVICE),
                  down = copy(WEIR_GRAPH_COPY_TO_HOST);
  upload.destination = other;
  upload.host_source = in.data();
  kernel.launch = &launch;
  kernel.dependency_count = 1;
  kernel.dependencies = first;
  filled.dependency_count = 2;
  filled.dependencies = both;
  const weir_allocation moved = allocate(device, 64);
  move.source = other;
  move.destination = moved;
  move.dependency_count = 1;
  move.dependencies = first;
  down.source = moved;
  down.host_destination = out.data();
  const std::uint32_t fill_and_move[] = {2, 3};
  down.dependency_count = 2;
  down.dependencies = fill_and_move;
  const weir_graph graph = create({upload, kernel, filled, move, down});
  EXPECT_THAT(calls_of("cuGraphAddKernelNode_v2").at(0).values, ElementsAre(1, 5, 64, 0));
  EXPECT_EQ(calls_of("cuGraphAddKernelNode_v2").at(0).bytes.size(), 8u);
  const auto fills = calls_of("cuGraphAddMemsetNode");
  ASSERT_EQ(fills.size(), 2u) << "one for each 4-byte column";
  EXPECT_THAT(fills[0].values, ElementsAre(2, 4, 1, 8, 8));
  const auto copies = calls_of("cuGraphAddMemcpyNode");
  EXPECT_THAT(copies.at(0).values, ElementsAre(0, 1, 2));
  EXPECT_THAT(copies.at(1).values, ElementsAre(1, 2, 2));
  EXPECT_THAT(copies.at(2).values, ElementsAre(3, 2, 1)) << "it waits for both columns";

  call(table().graph_launch, graph, stream);
  EXPECT_EQ(calls_of("cuGraphLaunch").at(0).stream, native);
  EXPECT_THAT(read<double>(stream, memory, 8), testing::Each(1.0));
  EXPECT_EQ(out, in);
  call(table().graph_destroy, graph);
  call(table().memory_free, moved);
}

TEST_F(FakeGraph, CooperativeNodesKeepTheAttribute) {
  const std::uint64_t argument = 7;
  weir_launch launch = launch_of(one, &argument, 8, 132, 64);
  launch.flags = WEIR_LAUNCH_COOPERATIVE;
  weir_graph_node kernel = node(WEIR_GRAPH_KERNEL);
  kernel.launch = &launch;
  const weir_graph graph = create({kernel});
  ASSERT_EQ(calls_of("cuGraphKernelNodeSetAttribute").size(), 1u);
  EXPECT_THAT(calls_of("cuGraphKernelNodeSetAttribute")[0].values, ElementsAre(2, 1));
  EXPECT_EQ(calls_of("cuGraphAddKernelNode_v2").at(0).bytes.size(), 8u);
  launch.grid[0] = 100;
  call(table().graph_update, graph, 0u, &kernel);
  launch.flags = 0;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().graph_update, graph, 0u, &kernel),
              testing::HasSubstr("launch.flags"));
  launch.flags = WEIR_LAUNCH_COOPERATIVE;
  launch.grid[0] = 132 * 32 + 1;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().graph_update, graph, 0u, &kernel),
              testing::HasSubstr("4225"));
  call(table().graph_destroy, graph);
}

TEST_F(FakeGraph, LongFillsOfLongPatternsCopyTheFilledPart) {
  constexpr std::uint64_t words = 25'001;
  const weir_allocation large = allocate(device, words * 8);
  double value = 1.5;
  weir_graph_node filled = fill(&value, 8);
  filled.destination = large;
  filled.size = words * 8;
  const weir_graph graph = create({filled});
  EXPECT_EQ(calls_of("cuGraphAddMemsetNode").size(), 2u);
  EXPECT_EQ(calls_of("cuGraphAddMemcpyNode").size(), 2u);
  call(table().graph_launch, graph, stream);
  EXPECT_THAT(read<double>(stream, large, words), testing::Each(1.5));
  value = 2.5;
  fake().fail_next("cuGraphExecMemcpyNodeSetParams", 1);
  EXPECT_THAT(refusal(WEIR_ERROR_UNSUPPORTED, table().graph_update, graph, 0u, &filled),
              HasSubstr("new graph"));
  call(table().graph_launch, graph, stream);
  EXPECT_THAT(read<double>(stream, large, words), testing::Each(1.5)) << "nothing is changed by a refusal";
  call(table().graph_update, graph, 0u, &filled);
  call(table().graph_launch, graph, stream);
  EXPECT_THAT(read<double>(stream, large, words), testing::Each(2.5));
  call(table().graph_destroy, graph);
  call(table().memory_free, large);
}

TEST_F(FakeGraph, UpdateChangesLaterRunsOnly) {
  const std::uint8_t seven = 7, nine = 9;
  const weir_graph graph = create({fill(&seven, 1)});
  fake().hold(true);
  call(table().graph_launch, graph, stream);
  const weir_graph_node changed = fill(&nine, 1);
  std::vector<std::uint8_t> before(64);
  call(table().copy_to_host, stream, static_cast<void*>(before.data()), memory, 0ull, 64ull);
  call(table().graph_update, graph, 0u, &changed);
  call(table().graph_launch, graph, stream);
  fake().hold(false);
  EXPECT_THAT(read<std::uint8_t>(stream, memory, 64), testing::Each(9));
  EXPECT_THAT(before, testing::Each(7));
  call(table().graph_destroy, graph);
}

TEST_F(FakeGraph, UpdateOfArgumentsReachesTheExecutableGraph) {
  std::uint64_t argument = 1;
  weir_launch launch = launch_of(one, &argument, 8);
  weir_graph_node kernel = node(WEIR_GRAPH_KERNEL);
  kernel.launch = &launch;
  const weir_graph graph = create({kernel});
  argument = 2;
  launch.grid[0] = 9;
  call(table().graph_update, graph, 0u, &kernel);
  const auto made = calls_of("cuGraphExecKernelNodeSetParams_v2");
  EXPECT_THAT(made.at(0).values, ElementsAre(9));
  EXPECT_EQ(made.at(0).bytes[0], 2);
  call(table().graph_destroy, graph);
}

// proves R35
TEST_F(FakeGraph, NodesAreCheckedBeforeAnythingIsMade) {
  const std::uint8_t seven = 7;
  const std::uint32_t itself[] = {0};
  weir_graph_node looped = fill(&seven, 1), outside = fill(&seven, 1);
  looped.dependency_count = 1;
  looped.dependencies = itself;
  outside.destination_offset = 1;
  fake().forget_calls();
  const weir_graph_node* nodes[] = {&looped};
  weir_graph out = nullptr;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().graph_create, device, 1u, nodes, &out),
              HasSubstr("node 0 of the graph: it depends on node 0"));
  nodes[0] = &outside;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().graph_create, device, 1u, nodes, &out),
              HasSubstr("do not lie inside"));
  EXPECT_TRUE(fake().calls().empty());
}

TEST_F(FakeGraph, ChangeThatCudaRefusesIsUnsupportedAndOfKindInvalid) {
  const std::uint8_t seven = 7;
  const double wide = 1.0;
  const weir_graph_node narrow = fill(&seven, 1), wider = fill(&wide, 8), empty = node(WEIR_GRAPH_EMPTY);
  const weir_graph graph = create({narrow});
  fake().fail_next("cuGraphExecMemsetNodeSetParams", 1);
  EXPECT_THAT(refusal(WEIR_ERROR_UNSUPPORTED, table().graph_update, graph, 0u, &narrow),
              HasSubstr("CUDA_ERROR_INVALID_VALUE"));
  EXPECT_THAT(refusal(WEIR_ERROR_UNSUPPORTED, table().graph_update, graph, 0u, &wider),
              HasSubstr("make a new graph"));
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().graph_update, graph, 0u, &empty), HasSubstr("of kind 0"));
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().graph_update, graph, 1u, &narrow),
              HasSubstr("has 1 nodes"));
  call(table().graph_destroy, graph);
}

// The kernel's object may already be another kernel's.
TEST_F(FakeGraph, AnotherKernelInPlaceOfOneThatWasUnloadedIsRefused) {
  const std::uint64_t argument = 0;
  weir_launch launch = launch_of(one, &argument, 8);
  weir_graph_node kernel = node(WEIR_GRAPH_KERNEL);
  kernel.launch = &launch;
  const weir_graph graph = create({kernel});
  const weir_kernel gone = one;
  call(table().module_unload, module);
  std::string text;
  for (int i = 0; i < 64; ++i) text += ".entry other" + std::to_string(i) + "_1(.param .u64 x) {} ";
  module = load(device, text);
  for (int i = 0; i < 64 && (i == 0 || launch.kernel != gone); ++i)
    launch.kernel = find(module, ("other" + std::to_string(i) + "_1").c_str(), 8);
  ASSERT_EQ(launch.kernel, gone) << "the test needs a reused handle";
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().graph_update, graph, 0u, &kernel), HasSubstr("unloaded"));
  call(table().graph_destroy, graph);
}

TEST_F(FakeGraph, FailureWhileBuildingLeavesNothing) {
  const std::uint8_t seven = 7;
  const weir_graph_node filled = fill(&seven, 1);
  const weir_graph_node* nodes[] = {&filled};
  weir_graph out = nullptr;
  const int before = fake().living();
  fake().fail_next("cuGraphInstantiateWithFlags", 2);
  EXPECT_THAT(refusal(WEIR_ERROR_OUT_OF_MEMORY, table().graph_create, device, 1u, nodes, &out),
              HasSubstr("make a graph executable"));
  EXPECT_EQ(fake().living(), before);
}

// proves R6
TEST_F(FakeGraph, DestroyedWhileItRunsItCompletes) {
  const std::uint8_t seven = 7;
  const weir_graph graph = create({fill(&seven, 1)});
  fake().hold(true);
  call(table().graph_launch, graph, stream);
  call(table().graph_destroy, graph);
  fake().hold(false);
  EXPECT_THAT(read<std::uint8_t>(stream, memory, 64), testing::Each(7));
}

}  // namespace
}  // namespace cuda_test
