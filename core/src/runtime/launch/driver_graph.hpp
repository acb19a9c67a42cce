// SPDX-License-Identifier: Apache-2.0
// A driver graph with a copy of each node's contents, so that a launch updates only the nodes that changed.
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

/// The most tasks of repeats in one graph, whose nodes take memory and time to make.
inline constexpr std::size_t max_repeated_nodes = 10'000;

/// Add nodes first, then set their work. Launch any number of times; nodes may be set again between launches.
/// Not thread-safe.
class DriverGraph {
 public:
  explicit DriverGraph(DeviceState& device) : device_(device) {}
  DriverGraph(const DriverGraph&) = delete;
  DriverGraph& operator=(const DriverGraph&) = delete;
  ~DriverGraph();  // runs in flight complete

  /// Adds a node that runs after `dependencies`; returns its number. `kernel` (may be null) is for messages.
  std::uint32_t add(std::uint32_t kind, std::span<const std::uint32_t> dependencies,
                    const KernelOrigin* kernel);

  /// Sets the work of a kernel node for later launches. Throws if the driver rejects the update; the node
  /// keeps the new work even then.
  void set(std::uint32_t node, const weir_launch& launch);
  /// Sets a copy or a fill. Only the fields of `work` that its kind uses are read; the pattern is copied.
  void set(std::uint32_t node, const weir_graph_node& work);

  /// Submits one run to `stream` and sets its last_launch. Builds the driver graph first unless the existing
  /// one fits. Takes the stream's submission lock for the submission only. Throws Error{unsupported}, with
  /// nothing submitted, when the driver cannot make the graph.
  void launch(StreamState& stream, const KernelOrigin* kernel);

  std::size_t size() const noexcept { return nodes_.size(); }
  /// Number of driver graphs built so far, and of calls that updated a node.
  std::uint32_t builds() const noexcept { return builds_; }
  std::uint32_t updates() const noexcept { return updates_; }

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
  bool stale_ = false;  ///< the driver's graph differs from the nodes' contents
  std::uint64_t given_back_ = 0;
  std::uint32_t builds_ = 0, updates_ = 0;
  std::uint32_t reported_builds_ = 0, reported_updates_ = 0;  ///< those at the last launch
};

/// Computes each node's dependencies from a sequence of fork, branch and join calls in program order, as in
/// the streams executor. Regions may be nested in branches.
class GraphOrder {
 public:
  using Ends = std::vector<std::uint32_t>;

  explicit GraphOrder(DriverGraph& graph) : graph_(graph) {}

  /// The nodes after which the next one of the current branch runs.
  const Ends& ends() noexcept { return here(); }
  void continue_after(Ends ends) noexcept { here() = std::move(ends); }

  void fork(std::uint32_t branch_count);
  /// Later nodes belong to that branch of the innermost fork.
  void branch(std::uint32_t branch);
  void join();
  /// Adds a node that runs after the preceding nodes of the current branch.
  std::uint32_t add(std::uint32_t kind, const KernelOrigin* kernel);

 private:
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

/// Adds kernel nodes in the order of the walk, for walk(). `repeats` is as in run_on_streams.
template <class Repeats>
class NodeAdder : public Repeats {
 public:
  NodeAdder(GraphOrder& order, const KernelOrigin* kernel, std::vector<std::uint32_t>& nodes,
            const Repeats& repeats)
      : Repeats(repeats), order_(order), kernel_(kernel), nodes_(nodes) {}

  void fork(std::uint32_t branch_count) {
    order_.fork(branch_count);
    in_region_ = true;
  }
  void task(std::size_t, std::uint32_t branch) {
    if (in_region_) order_.branch(branch);
    nodes_.push_back(order_.add(WEIR_GRAPH_KERNEL, kernel_));
  }
  void join() {
    order_.join();
    in_region_ = false;
  }

 private:
  GraphOrder& order_;
  const KernelOrigin* kernel_;
  std::vector<std::uint32_t>& nodes_;
  bool in_region_ = false;
};

/// Adds a kernel node for each task, in the order of the walk, and appends their numbers to `nodes`. For
/// `in_order` and `repeats` see run_on_streams.
template <class Repeats>
void add_tasks(GraphOrder& order, std::span<const PlacedTask> tasks, std::uint64_t in_order,
               const KernelOrigin* kernel, std::vector<std::uint32_t>& nodes, const Repeats& repeats) {
  NodeAdder adder(order, kernel, nodes, repeats);
  walk(tasks, in_order, adder, repeats.tasks());
}

}  // namespace weir::detail
