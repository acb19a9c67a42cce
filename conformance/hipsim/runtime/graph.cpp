// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph.hpp"

#include <algorithm>
#include <unordered_set>

namespace weir::hipsim {

std::vector<std::shared_ptr<GraphNode>> in_order(const std::vector<std::shared_ptr<GraphNode>>& nodes) {
  std::vector<std::shared_ptr<GraphNode>> order, waiting = nodes;
  std::unordered_set<const GraphNode*> placed;
  while (!waiting.empty()) {
    const std::size_t before = order.size();
    std::erase_if(waiting, [&](const std::shared_ptr<GraphNode>& node) {
      const bool ready = std::all_of(node->before.begin(), node->before.end(),
                                     [&](const GraphNode* n) { return placed.contains(n); });
      if (!ready) return false;
      placed.insert(node.get());
      order.push_back(node);
      return true;
    });
    if (order.size() == before) return {};
  }
  return order;
}

}  // namespace weir::hipsim
