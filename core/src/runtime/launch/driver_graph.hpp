// SPDX-License-Identifier: Apache-2.0
// A driver's graph, and beside it what each node holds, so that a launch tells the driver only what has
// changed.
#pragma once

#include <weir/driver.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/devices/device_state.hpp"
#include "runtime/launch/executor.hpp"

namespace weir::detail {

/// Nodes are added first, then given what they do, then launched as often as one likes with whatever changed
/// in between. For one thread at a time.
class DriverGraph {
 public:
  explicit DriverGraph(DeviceState& device) : device_(device) {}
  DriverGraph(const DriverGraph&) = delete;
  DriverGraph& operator=(const DriverGraph&) = delete;
  ~DriverGraph();  // runs in flight complete

  /// A node behind those in `dependencies`; returns its number. `kernel` (may be null) is for messages.
  std::uint32_t add(std::uint32_t kind, std::span<const std::uint32_t> dependencies,
                    const KernelOrigin* kernel);

  /// What a kernel node does from the next launch on. Throws what the driver refuses; the node holds it all
  /// the same.
  void set(std::uint32_t node, const weir_launch& launch);
  /// The same for a copy or a fill; of `work` the fields that its kind names are used, and its pattern is
  /// copied.
  void set(std::uint32_t node, const weir_graph_node& work);

  /// Submits one run to `stream`, after making the driver's graph if there is none that fits; takes the
  /// stream's turn for the submission alone. Throws Error{unsupported} when the driver cannot make it;
  /// nothing was submitted then.
  void launch(StreamState& stream, const KernelOrigin* kernel);

  std::size_t size() const noexcept { return nodes_.size(); }
  /// How often the driver made a graph, for tests.
  std::uint32_t builds() const noexcept { return builds_; }

 private:
  struct Node {
    weir_graph_node work{};
    weir_launch launch{};
    std::vector<std::uint32_t> dependencies;
    std::unique_ptr<std::byte[]> arguments;
    std::byte pattern[16] = {};
    const KernelOrigin* kernel = nullptr;
  };

  void changed(std::uint32_t node);
  void build();
  void destroy(weir_graph graph) noexcept;

  DeviceState& device_;
  std::deque<Node> nodes_;
  weir_graph graph_ = nullptr;
  bool stale_ = false;  ///< the driver's graph differs from what the nodes hold
  std::uint64_t given_back_ = 0;
  std::uint32_t builds_ = 0;
};

/// Finds what each node depends on while work is told in program order: fork, branch_count, join, as the
/// streams executor sees it. Regions may stand inside lanes.
class GraphOrder {
 public:
  explicit GraphOrder(DriverGraph& graph) : graph_(graph) {}

  void fork(std::uint32_t branch_count);
  /// What follows belongs to that branch of the innermost fork.
  void branch(std::uint32_t branch);
  void join();
  /// Adds a node behind what stands before it here.
  std::uint32_t add(std::uint32_t kind, const KernelOrigin* kernel);

 private:
  using Ends = std::vector<std::uint32_t>;
  struct Fork {
    Ends entry;
    std::vector<Ends> branches;
    std::uint32_t branch = 0;
  };
  Ends& here() noexcept { return forks_.empty() ? ends_ : forks_.back().branches[forks_.back().branch]; }

  DriverGraph& graph_;
  Ends ends_;
  std::vector<Fork> forks_;
};

/// Adds a kernel node for each task, in the order of the tasks, and appends their numbers to `nodes`.
void add_tasks(GraphOrder& order, std::span<const PlacedTask> tasks, const KernelOrigin* kernel,
               std::vector<std::uint32_t>& nodes);

}  // namespace weir::detail
