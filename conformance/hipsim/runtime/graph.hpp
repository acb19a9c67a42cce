// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/work.hpp"

namespace weir::hipsim {

/// A node of a graph under construction.
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

/// An executable graph: its work in an order that satisfies its dependencies. Updates do not change launches
/// that were already enqueued.
struct GraphExec {
  struct Step {
    hipGraphNode_t node;
    Work work;
  };
  std::mutex mutex;
  std::shared_ptr<const std::vector<Step>> steps;
  int device = 0;
};

/// The nodes in an order in which each follows its dependencies; empty if the dependencies form a cycle.
std::vector<std::shared_ptr<GraphNode>> in_order(const std::vector<std::shared_ptr<GraphNode>>& nodes);

}  // namespace weir::hipsim
