// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/work.hpp"

namespace weir::hipsim {

/// A node of a graph that is being built.
struct GraphNode {
  Work work;
  std::vector<const GraphNode*> before;
  std::weak_ptr<Graph> graph;
  hipGraphNode_t handle = nullptr;
};

struct Graph {
  std::mutex mutex;
  std::vector<std::shared_ptr<GraphNode>> nodes;
};

/// A graph that can be launched: its work in an order that its dependencies allow. Launches that were
/// enqueued keep the work that they were enqueued with.
struct GraphExec {
  struct Step {
    hipGraphNode_t node;
    Work work;
  };
  std::mutex mutex;
  std::shared_ptr<const std::vector<Step>> steps;
  int device = 0;
};

/// The nodes in an order in which each stands behind those it depends on; empty if they depend on each other
/// in a ring.
std::vector<std::shared_ptr<GraphNode>> in_order(const std::vector<std::shared_ptr<GraphNode>>& nodes);

}  // namespace weir::hipsim
