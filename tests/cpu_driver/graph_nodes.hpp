// SPDX-License-Identifier: Apache-2.0
// Graphs through the raw table.
#pragma once

#include <deque>

#include "support.hpp"

namespace cpu_test {

/// Nodes as a host describes them; owns everything that they point to.
class Nodes {
 public:
  template <class Arguments>
  std::uint32_t launch(weir_kernel kernel, const Arguments& arguments, std::vector<std::uint32_t> after = {},
                       std::uint32_t blocks = 1) {
    blocks_.emplace_back(sizeof arguments);
    std::memcpy(blocks_.back().data(), &arguments, sizeof arguments);
    launches_.push_back(launch_of(kernel, blocks));
    launches_.back().arguments = blocks_.back().data();
    launches_.back().argument_bytes = sizeof arguments;
    weir_graph_node& node = add(WEIR_GRAPH_KERNEL, std::move(after));
    node.launch = &launches_.back();
    return last();
  }
  std::uint32_t launch(weir_kernel kernel) {
    launches_.push_back(launch_of(kernel, 1));
    add(WEIR_GRAPH_KERNEL).launch = &launches_.back();
    return last();
  }
  weir_graph_node& add(std::uint32_t kind, std::vector<std::uint32_t> after = {}) {
    after_.push_back(std::move(after));
    weir_graph_node& node = nodes_.emplace_back();
    node.struct_size = sizeof node;
    node.kind = kind;
    node.dependencies = after_.back().data();
    node.dependency_count = static_cast<std::uint32_t>(after_.back().size());
    return node;
  }
  weir_graph_node& operator[](std::size_t i) { return nodes_[i]; }
  std::uint32_t last() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }
  std::vector<const weir_graph_node*> pointers() const {
    std::vector<const weir_graph_node*> all;
    for (const weir_graph_node& node : nodes_) all.push_back(&node);
    return all;
  }

 private:
  std::deque<weir_graph_node> nodes_;
  std::deque<weir_launch> launches_;
  std::deque<std::vector<std::byte>> blocks_;
  std::deque<std::vector<std::uint32_t>> after_;
};

class Graph {
 public:
  explicit Graph(const Nodes& nodes) {
    const auto all = nodes.pointers();
    call(table().graph_create, first_device(), static_cast<std::uint32_t>(all.size()), all.data(), &graph_);
  }
  ~Graph() { destroy(); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  operator weir_graph() const { return graph_; }
  void destroy() {
    if (graph_) call(table().graph_destroy, graph_);
    graph_ = nullptr;
  }
  void launch(weir_stream stream) { call(table().graph_launch, graph_, stream); }
  void update(std::uint32_t index, const weir_graph_node& node) { call(table().graph_update, graph_, index, &node); }

 private:
  weir_graph graph_ = nullptr;
};

}  // namespace cpu_test
