// SPDX-License-Identifier: Apache-2.0
// Graph descriptions that own the data they point to until graph_create has returned.
#pragma once

#include <deque>
#include <initializer_list>

#include "kernels/kernels.hpp"

namespace weir::conformance {

using Graph = Owner<weir_graph, &weir_driver_table::graph_destroy>;

class GraphNodes {
 public:
  using After = std::initializer_list<std::uint32_t>;

  /// Each returns the node's index.
  std::uint32_t empty(After after = {}) { return add(WEIR_GRAPH_EMPTY, after); }
  std::uint32_t kernel(const Kernel& kernel, Arguments values, std::uint32_t blocks = 1, After after = {});
  std::uint32_t copy_to_device(weir_allocation to, const void* from, std::uint64_t size, After after = {});
  std::uint32_t copy_to_host(void* to, weir_allocation from, std::uint64_t size, After after = {});
  std::uint32_t copy_on_device(weir_allocation to, std::uint64_t to_offset, weir_allocation from,
                               std::uint64_t from_offset, std::uint64_t size, After after = {});
  template <class T>
  std::uint32_t fill(weir_allocation to, std::uint64_t offset, std::uint64_t size, T value,
                     After after = {}) {
    return fill_bytes(to, offset, size, &value, sizeof value, after);
  }
  std::uint32_t fill_bytes(weir_allocation to, std::uint64_t offset, std::uint64_t size, const void* pattern,
                           std::uint32_t pattern_size, After after);

  /// Replaces a node's dependencies.
  void depend(std::uint32_t index, std::vector<std::uint32_t> after);

  weir_graph_node& operator[](std::size_t index) { return nodes_[index].node; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  /// The node pointers for graph_create.
  std::vector<const weir_graph_node*> pointers() const;

  Graph make(weir_device on = device()) const;
  /// Updates graph node `index` with the parameters of the node at the same index here.
  void update(weir_graph graph, std::uint32_t index) const;

 private:
  struct Node {
    weir_graph_node node{};
    std::vector<std::uint32_t> after;
    std::vector<std::uint8_t> bytes;  ///< of arguments or pattern
    weir_launch launch{};
  };
  std::uint32_t add(weir_graph_node_kind kind, After after);

  std::deque<Node> nodes_;  // a deque: pointers to its elements stay valid
};

inline void launch(weir_graph graph, const Stream& stream) {
  call(table().graph_launch, graph, weir_stream(stream));
}

/// Updates node 0 of the graph, then runs it and waits. `pending`: the update is made while an earlier run
/// waits, if anything can hold the stream.
void run_after_update(weir_graph graph, const GraphNodes& changed, const Stream& stream, bool pending);

}  // namespace weir::conformance
