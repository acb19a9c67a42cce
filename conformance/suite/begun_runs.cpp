// SPDX-License-Identifier: Apache-2.0
// Level 5: graphs that are changed or destroyed while a run of them has begun.
#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"

namespace weir::conformance {
namespace {

constexpr std::uint64_t size = 64;

/// A graph of one kernel that is held, and behind it a kernel, a fill, a copy on the device and one to the
/// host.
class HeldGraph {
 public:
  HeldGraph() {
    needs(WEIR_CAP_GRAPHS);
    clear();
    from_.write(Bytes(2 * size, 4));
    GraphNodes nodes;
    const auto first = nodes.kernel(held_.kernel(), held_.arguments());
    add(nodes, 0, {first});
    graph_ = nodes.make();
  }
  HeldGraph(const HeldGraph&) = delete;
  HeldGraph& operator=(const HeldGraph&) = delete;
  ~HeldGraph() {
    held_.release();
    (void)result_of(table().stream_synchronize, weir_stream(stream_));
  }

  /// Submits a run and waits until it is in its first node.
  bool begins() const {
    launch(graph_, stream_);
    stream_.flush();
    return held_.starts();
  }
  /// Changes all nodes but the first.
  void update() {
    GraphNodes changed;
    changed.empty();
    add(changed, 1, {0});
    for (std::uint32_t i = 1; i < changed.size(); ++i) changed.update(graph_, i);
  }
  void destroy() { graph_.destroy(); }
  void run_again() const {
    launch(graph_, stream_);
    stream_.synchronize();
  }
  void end() {
    held_.release();
    stream_.synchronize();
  }
  void clear() {
    numbers_.write(Bytes(8 * 4, 0));
    filled_.write(Bytes(2 * size, 0));
    copied_.write(Bytes(2 * size, 0));
    std::fill_n(host_.data(), 2 * size, std::uint8_t{0});
  }
  /// What a run has written: with the first or the second parameters.
  void expect(std::uint8_t parameters, const char* what) {
    const std::int64_t value = 10 + 10 * parameters;
    const auto part = [&](std::uint8_t written) {
      Bytes bytes(2 * size, 0);
      std::fill_n(bytes.begin() + (parameters ? size : 0), size, written);
      return bytes;
    };
    EXPECT_EQ(numbers_.values<std::int64_t>(), iota_values(4, value)) << "a kernel node " << what;
    EXPECT_TRUE(same_bytes(filled_.read(), part(static_cast<std::uint8_t>(3 + parameters))))
        << "in the memory of a fill node " << what;
    EXPECT_TRUE(same_bytes(copied_.read(), part(4))) << "in the destination of a copy node " << what;
    EXPECT_TRUE(same_bytes(host_.bytes(), part(4))) << "on the host, where a copy node " << what;
  }

 private:
  void add(GraphNodes& to, std::uint8_t parameters, GraphNodes::After after) {
    const std::uint64_t offset = parameters ? size : 0;
    const auto numbers =
        to.kernel(iota_, arguments(numbers_, std::int64_t{4}, std::int64_t{10 + 10 * parameters}), 1, after);
    const auto filled =
        to.fill<std::uint8_t>(filled_, offset, size, static_cast<std::uint8_t>(3 + parameters), {numbers});
    const auto copied = to.copy_on_device(copied_, offset, from_, 0, size, {filled});
    to.copy_to_host(host_.data() + offset, from_, size, {copied});
  }

  HeldKernel held_;
  const Kernel iota_{"iota"};
  Memory numbers_{8 * 4}, filled_{2 * size}, copied_{2 * size}, from_{2 * size};
  const HostMemory host_{2 * size};
  const Stream stream_;
  Graph graph_;
};

WEIR_REQUIREMENT(
    5, 91, GraphUpdates, LeaveARunAloneThatHasBegun,
    "An update while a run is in its first node changes no node of that run, and each node of the "
    "next one.") {
  HeldGraph graph;
  if (!graph.begins()) throw Unsupported("the kernel does not run while the host watches it");
  graph.update();
  graph.end();
  graph.expect(0,
               "of a run that was in its first node when it was updated. driver.h: launches already "
               "submitted keep their parameters. Look first at when a run reads those of "
               "its nodes");
  graph.clear();
  graph.run_again();
  graph.expect(1, "of the run after an update. Look first at what graph_update changes");
}

WEIR_REQUIREMENT(
    5, 92, Graphs, DestroyedInARunComplete,
    "A graph that is destroyed while a run is in its first node completes that run, also after an update.") {
  for (const bool updated : {false, true}) {
    HeldGraph graph;
    if (!graph.begins()) throw Unsupported("the kernel does not run while the host watches it");
    if (updated) graph.update();
    graph.destroy();
    graph.end();
    graph.expect(0,
                 "of a run that was in its first node when the graph was destroyed. driver.h: submitted "
                 "runs complete. Look first at what graph_destroy releases");
  }
}

}  // namespace
}  // namespace weir::conformance
