// SPDX-License-Identifier: Apache-2.0
#include "simulator.hpp"

namespace amdgpu_test {
namespace {

using testing::Each;
using testing::HasSubstr;

class SimulatorGraph : public Simulator {
 protected:
  static constexpr std::uint32_t count = 1024;
  static constexpr std::uint64_t bytes = count * 4;

  SimulatorGraph() : a(allocate(device, bytes)), b(allocate(device, bytes)) {
    arguments = {address(a), address(a), address(a), count, 0};
    launch = launch_of(add(), &arguments, sizeof arguments, 4, 256);
  }
  ~SimulatorGraph() override {
    weir_status status = new_status();
    table().stream_synchronize(stream, &status);
    table().memory_free(a, &status);
    table().memory_free(b, &status);
  }

  static weir_graph_node node(std::uint32_t kind, const std::vector<std::uint32_t>& after = {}) {
    weir_graph_node out{};
    out.struct_size = sizeof out;
    out.kind = kind;
    out.size = bytes;
    out.dependency_count = static_cast<std::uint32_t>(after.size());
    out.dependencies = after.data();
    return out;
  }
  weir_graph create(const std::vector<const weir_graph_node*>& nodes) const {
    weir_graph out = nullptr;
    call(table().graph_create, device, static_cast<std::uint32_t>(nodes.size()), nodes.data(), &out);
    return out;
  }
  /// a[i] += a[i]
  weir_graph doubling() {
    weir_graph_node kernel = node(WEIR_GRAPH_KERNEL);
    kernel.launch = &launch;
    return create({&kernel});
  }
  template <class T>
  void fill(weir_stream on, weir_allocation to, T value) const {
    call(table().fill, on, to, 0ull, bytes, static_cast<const void*>(&value),
         static_cast<std::uint32_t>(sizeof value));
  }

  weir_allocation a, b;
  AddArguments arguments{};
  weir_launch launch{};
};

TEST_F(SimulatorGraph, NodesRunInTheirOrderAndTakeNewParameters) {
  std::vector<float> in(count, 1.0f), out(count);
  const std::vector<std::uint32_t> zero{0}, one{1}, two{2}, both{2, 3}, four{4};
  weir_graph_node upload = node(WEIR_GRAPH_COPY_TO_DEVICE), kernel = node(WEIR_GRAPH_KERNEL, zero),
                  move = node(WEIR_GRAPH_COPY_ON_DEVICE, one), wide = node(WEIR_GRAPH_FILL, two),
                  join = node(WEIR_GRAPH_EMPTY, both), down = node(WEIR_GRAPH_COPY_TO_HOST, four);
  double pattern = 7.0;
  upload.destination = a;
  upload.host_source = in.data();
  kernel.launch = &launch;
  move.destination = b;
  move.source = a;
  wide.destination = a;
  wide.pattern = &pattern;
  wide.pattern_size = 8;
  down.source = b;
  down.host_destination = out.data();
  const weir_graph graph = create({&upload, &kernel, &move, &wide, &join, &down});
  call(table().graph_launch, graph, stream);
  EXPECT_THAT(read<double>(stream, a, count / 2), Each(7.0));
  EXPECT_THAT(out, Each(2.0f));

  pattern = 8.0;
  call(table().graph_update, graph, 3u, &wide);
  const std::vector<float> fours(count, 4.0f);
  upload.host_source = fours.data();
  call(table().graph_update, graph, 0u, &upload);
  arguments.count = count / 2;
  call(table().graph_update, graph, 1u, &kernel);
  call(table().graph_launch, graph, stream);
  EXPECT_THAT(read<double>(stream, a, count / 2), Each(8.0));
  EXPECT_EQ(out.front(), 8.0f);
  EXPECT_EQ(out.back(), 4.0f);
  call(table().graph_destroy, graph);
}

TEST_F(SimulatorGraph, RunsOfOneGraphFollowOneAnotherOnDifferentStreams) {
  const weir_graph graph = doubling();
  const weir_stream other = new_stream(device);
  fill(stream, a, 1.0f);
  call(table().stream_synchronize, stream);
  {
    Gate gate(stream);
    call(table().graph_launch, graph, stream);
    call(table().graph_launch, graph, other);
    EXPECT_EQ(table().stream_query(other, nullptr), WEIR_NOT_READY) << "the first run has not begun";
  }
  EXPECT_THAT(read<float>(other, a, count), Each(4.0f));
  call(table().stream_destroy, other);
  call(table().graph_destroy, graph);
}

// HIP does not order runs of one graph. The driver orders them by an event after each run, which cannot be
// recorded here.
TEST_F(SimulatorGraph, ARunThatTheNextCannotBeOrderedBehindIsWaitedFor) {
  const weir_graph graph = doubling();
  const weir_stream other = new_stream(device);
  fill(stream, a, 1.0f);
  fail_next("hipEventRecord", 999);
  call(table().graph_launch, graph, stream);
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_OK);
  call(table().graph_launch, graph, other);
  EXPECT_THAT(read<float>(other, a, count), Each(4.0f));
  call(table().stream_destroy, other);
  call(table().graph_destroy, graph);
}

TEST_F(SimulatorGraph, UpdateChangesLaterRunsOnly) {
  const weir_graph graph = doubling();
  fill(stream, a, 1.0f);
  {
    Gate gate(stream);
    call(table().graph_launch, graph, stream);
    weir_graph_node kernel = node(WEIR_GRAPH_KERNEL);
    arguments.count = 0;
    kernel.launch = &launch;
    call(table().graph_update, graph, 0u, &kernel);
    call(table().graph_launch, graph, stream);
  }
  EXPECT_THAT(read<float>(stream, a, count), Each(2.0f));
  call(table().graph_destroy, graph);
}

// proves R6
TEST_F(SimulatorGraph, DestroyedWhileItRunsItCompletesAndIsFreedLater) {
  const weir_graph graph = doubling();
  fill(stream, a, 1.0f);
  {
    Gate gate(stream);
    call(table().graph_launch, graph, stream);
    call(table().graph_destroy, graph);
  }
  EXPECT_THAT(read<float>(stream, a, count), Each(2.0f));
}

TEST_F(SimulatorGraph, ChangeThatHipRefusesIsUnsupported) {
  const weir_graph graph = doubling();
  weir_graph_node kernel = node(WEIR_GRAPH_KERNEL);
  kernel.launch = &launch;
  fail_next("hipGraphExecKernelNodeSetParams", 1);
  EXPECT_THAT(refusal(WEIR_ERROR_UNSUPPORTED, table().graph_update, graph, 0u, &kernel),
              HasSubstr("hipErrorInvalidValue (1); make a new graph"));
  call(table().graph_destroy, graph);
}

TEST_F(SimulatorGraph, FailureWhileBuildingIsNamed) {
  weir_graph_node kernel = node(WEIR_GRAPH_KERNEL);
  kernel.launch = &launch;
  const weir_graph_node* nodes[] = {&kernel};
  weir_graph out = nullptr;
  fail_next("hipGraphAddKernelNode", 2);
  EXPECT_THAT(refusal(WEIR_ERROR_OUT_OF_MEMORY, table().graph_create, device, 1u, nodes, &out),
              HasSubstr("add kernel 'add' to a graph"));
  fail_next("hipGraphInstantiateWithFlags", 2);
  EXPECT_THAT(refusal(WEIR_ERROR_OUT_OF_MEMORY, table().graph_create, device, 1u, nodes, &out),
              HasSubstr("make a graph executable"));
}

}  // namespace
}  // namespace amdgpu_test
