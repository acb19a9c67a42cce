// SPDX-License-Identifier: Apache-2.0
// Level 5: graphs that are changed or destroyed while a run of them has begun.
#include <algorithm>
#include <vector>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"

namespace weir::conformance {
namespace {

/// The parameters of the nodes. The second ones have more blocks, and much more to copy and fill.
struct Parameters {
  std::int64_t count, base;  ///< of the kernel
  std::uint32_t blocks;
  std::uint64_t offset, size;  ///< of the fill and the copies
  std::uint8_t value;          ///< of the fill
};
constexpr std::int64_t most_numbers = 3000;
constexpr std::uint64_t small = 64, large = (2u << 20) + 1, whole = small + large;
constexpr Parameters first{40, 10, 1, 0, small, 3}, second{most_numbers, 20, 7, small, large, 5};

/// A graph of one kernel that is held, and behind it a kernel, a fill, a copy on the device and one to the
/// host.
class HeldGraph {
 public:
  explicit HeldGraph(const Parameters& parameters) {
    needs(WEIR_CAP_GRAPHS);
    clear();
    from_.write(Bytes(large, 4));
    GraphNodes nodes;
    const auto begin = nodes.kernel(held_.kernel(), held_.arguments());
    add(nodes, parameters, {begin});
    graph_ = nodes.make();
  }
  HeldGraph(const HeldGraph&) = delete;
  HeldGraph& operator=(const HeldGraph&) = delete;
  ~HeldGraph() {
    held_.release();
    (void)result_of(table().stream_synchronize, weir_stream(stream_));
  }

  /// Submits a run and waits until it is in its first node.
  void begin() const {
    launch(graph_, stream_);
    stream_.flush();
    if (!held_.starts()) throw Unsupported("the kernel does not run while the host watches it");
  }
  /// Changes all nodes but the first.
  void update(const Parameters& parameters) {
    GraphNodes changed;
    changed.empty();
    add(changed, parameters, {0});
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
    numbers_.write(Bytes(8 * most_numbers, 0));
    filled_.write(Bytes(whole, 0));
    copied_.write(Bytes(whole, 0));
    std::fill_n(host_.data(), whole, std::uint8_t{0});
  }
  /// What a run with these parameters has written.
  void expect(const Parameters& parameters, const char* what) {
    std::vector<std::int64_t> numbers = iota_values(parameters.count, parameters.base);
    numbers.resize(most_numbers, 0);
    const auto part = [&](std::uint8_t written) {
      Bytes bytes(whole, 0);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(parameters.offset), parameters.size, written);
      return bytes;
    };
    EXPECT_TRUE(numbers_.values<std::int64_t>() == numbers) << "a kernel node wrote other numbers " << what;
    EXPECT_TRUE(same_bytes(filled_.read(), part(parameters.value)))
        << "in the memory of a fill node " << what;
    EXPECT_TRUE(same_bytes(copied_.read(), part(4))) << "in the destination of a copy node " << what;
    EXPECT_TRUE(same_bytes(host_.bytes(), part(4))) << "on the host, behind a copy node " << what;
  }

 private:
  void add(GraphNodes& to, const Parameters& parameters, GraphNodes::After after) {
    const auto& [count, base, blocks, offset, size, value] = parameters;
    const auto numbers = to.kernel(iota_, arguments(numbers_, count, base), blocks, after);
    const auto filled = to.fill<std::uint8_t>(filled_, offset, size, value, {numbers});
    const auto copied = to.copy_on_device(copied_, offset, from_, 0, size, {filled});
    to.copy_to_host(host_.data() + offset, from_, size, {copied});
  }

  HeldKernel held_;
  const Kernel iota_{"iota"};
  Memory numbers_{8 * most_numbers}, filled_{whole}, copied_{whole}, from_{large};
  const HostMemory host_{whole};
  const Stream stream_;
  Graph graph_;
};

WEIR_REQUIREMENT(
    5, 91, GraphUpdates, LeaveARunAloneThatHasBegun,
    "An update while a run is in its first node changes no node of that run, and each node of the "
    "next one: its numbers, and how much it copies and fills.") {
  for (const bool grows : {true, false}) {
    const Parameters &before = grows ? first : second, &after = grows ? second : first;
    HeldGraph graph(before);
    graph.begin();
    graph.update(after);
    graph.end();
    graph.expect(
        before,
        "of a run that was in its first node when it was updated. driver.h: launches already submitted "
        "keep their parameters. Look first at when a run reads those of its nodes");
    graph.clear();
    graph.run_again();
    graph.expect(
        after,
        "of the run after an update that was made while a run was in its first node. Look first at which "
        "parameters graph_update takes over");
    graph.clear();
    graph.update(before);
    graph.run_again();
    graph.expect(
        before,
        "of the run after an update of the idle graph. Look first at which parameters graph_update takes "
        "over");
  }
}

WEIR_REQUIREMENT(
    5, 92, Graphs, DestroyedInARunComplete,
    "A graph that is destroyed while a run is in its first node completes that run, also after an update.") {
  for (const bool updated : {false, true}) {
    HeldGraph graph(first);
    graph.begin();
    if (updated) graph.update(second);
    graph.destroy();
    graph.end();
    graph.expect(first,
                 "of a run that was in its first node when the graph was destroyed. driver.h: submitted runs "
                 "complete. Look first at what graph_destroy releases");
  }
}

}  // namespace
}  // namespace weir::conformance
