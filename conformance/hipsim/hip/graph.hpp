// SPDX-License-Identifier: Apache-2.0
// Graphs and their nodes, as the entry points construct and instantiate them.
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

/// Checks the parameters of nodes and converts them to work.
hipError_t kernel_work(Runtime& runtime, const hipKernelNodeParams* parameters, Work& work);
hipError_t fill_work(const hipMemsetParams* parameters, Work& work);
hipError_t copy_work(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, Work& work);

}  // namespace weir::hipsim
