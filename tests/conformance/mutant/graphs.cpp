// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>
#include <string>

#include "mutant.hpp"

namespace mutant {
namespace {

using Node = weir_graph_node;
using Nodes = std::vector<Node>;

weir_result make(weir_device d, const Nodes& nodes, weir_graph* out, Status* e) {
  std::vector<const Node*> pointers;
  for (const Node& node : nodes) pointers.push_back(&node);
  return real().graph_create(d, static_cast<std::uint32_t>(nodes.size()), pointers.data(), out, e);
}

/// A graph_create that creates the graph from nodes modified by `change`.
template <auto change>
void making(Table& t) {
  t.graph_create = [](weir_device d, std::uint32_t count, const Node* const* given, weir_graph* out,
                      Status* e) {
    Nodes nodes;
    for (std::uint32_t i = 0; i < count; ++i) nodes.push_back(*given[i]);
    change(nodes);
    return make(d, nodes, out, e);
  };
}

/// A graph_create that accepts invalid nodes that match `accepted`, and returns a graph of one empty node for
/// them.
template <auto accepted>
void accepting(Table& t) {
  t.graph_create = [](weir_device d, std::uint32_t count, const Node* const* nodes, weir_graph* out,
                      Status* e) {
    const weir_result result = real().graph_create(d, count, nodes, out, e);
    if (result != WEIR_ERROR_INVALID || !accepted(count, nodes)) return result;
    Node empty{};
    empty.struct_size = sizeof empty;
    return make(d, {empty}, out, e);
  };
}

}  // namespace

std::span<const Mutant> graph_mutants() {
  static const Mutant mutants[] = {
      {"graph-without-nodes-accepted", "a graph has at least one node",
       accepting<[](std::uint32_t n, const Node* const*) { return n == 0; }>},
      {"graph-forward-dependencies-accepted", "a node depends on earlier nodes only",
       accepting<[](std::uint32_t n, const Node* const* nodes) {
         for (std::uint32_t i = 0; i < n; ++i)
           for (std::uint32_t d = 0; d < nodes[i]->dependency_count; ++d)
             if (nodes[i]->dependencies[d] >= i) return true;
         return false;
       }>},
      {"graph-unknown-kinds-accepted", "kinds are those of the header",
       accepting<[](std::uint32_t n, const Node* const* nodes) {
         return n == 1 && WEIR_GRAPH_FILL < nodes[0]->kind;
       }>},
      {"graph-fills-unchecked", "fills are checked", accepting<[](std::uint32_t n, const Node* const* nodes) {
         return n == 2 && nodes[1]->kind == WEIR_GRAPH_FILL;
       }>},
      {"graph-copies-to-host-unchecked", "copies are checked",
       accepting<[](std::uint32_t, const Node* const* nodes) {
         return nodes[0]->kind == WEIR_GRAPH_COPY_TO_HOST;
       }>},
      {"graph-copies-on-device-unchecked", "copies are checked",
       accepting<[](std::uint32_t, const Node* const* nodes) {
         return nodes[0]->kind == WEIR_GRAPH_COPY_ON_DEVICE;
       }>},
      {"graph-launches-unchecked", "launches are checked",
       accepting<[](std::uint32_t, const Node* const* nodes) {
         return nodes[0]->kind == WEIR_GRAPH_KERNEL;
       }>},
      {"graph-refusal-touches-output", "a refusal does not change its output",
       [](Table& t) {
         t.graph_create = [](weir_device d, std::uint32_t count, const Node* const* nodes, weir_graph* out,
                             Status* e) {
           const weir_result result = real().graph_create(d, count, nodes, out, e);
           if (result != WEIR_OK) *out = reinterpret_cast<weir_graph>(out);
           return result;
         };
       }},
      {"graph-dependencies-ignored", "nodes keep their dependencies", making<[](Nodes& nodes) {
         // Reversed, so that the order is not correct by chance.
         Nodes reversed(nodes.rbegin(), nodes.rend());
         for (Node& node : reversed) node.dependency_count = 0;
         nodes = reversed;
       }>},
      {"graph-last-node-dropped", "every node runs", making<[](Nodes& nodes) {
         if (1 < nodes.size()) nodes.pop_back();
       }>},
      {"graph-joins-ignored", "a node waits for all of its dependencies", making<[](Nodes& nodes) {
         for (Node& node : nodes)
           if (1 < node.dependency_count) node.kind = WEIR_GRAPH_EMPTY, node.dependency_count = 0;
       }>},
      {"graph-copies-byte-short", "copies are whole", making<[](Nodes& nodes) {
         for (Node& node : nodes)
           if (node.kind == WEIR_GRAPH_COPY_ON_DEVICE && 8 < node.size) --node.size;
       }>},
      {"graph-copy-offset-ignored", "copies begin at their offset", making<[](Nodes& nodes) {
         for (Node& node : nodes)
           if (node.kind == WEIR_GRAPH_COPY_TO_DEVICE) node.destination_offset = 0;
       }>},
      {"graph-fill-pattern-cut", "patterns are repeated whole", making<[](Nodes& nodes) {
         for (Node& node : nodes)
           if (node.kind == WEIR_GRAPH_FILL && node.pattern_size == 16) node.pattern_size = 8;
       }>},
      {"graph-fill-of-two-bytes-as-one", "patterns are repeated whole", making<[](Nodes& nodes) {
         for (Node& node : nodes)
           if (node.kind == WEIR_GRAPH_FILL && node.pattern_size == 2) node.pattern_size = 1;
       }>},
      {"graph-host-memory-read-once", "host memory is read each time the graph runs",
       making<[](Nodes& nodes) {
         for (Node& node : nodes)
           if (node.kind == WEIR_GRAPH_COPY_TO_DEVICE) {
             const std::string& kept =
                 *new std::string(static_cast<const char*>(node.host_source), node.size);
             node.host_source = kept.data();
           }
       }>},
      {"graph-runs-when-made", "making a graph runs nothing",
       [](Table& t) {
         t.graph_create = [](weir_device d, std::uint32_t count, const Node* const* nodes, weir_graph* out,
                             Status* e) {
           const weir_result result = real().graph_create(d, count, nodes, out, e);
           if (result == WEIR_OK) {
             real().graph_launch(*out, hidden_stream(), nullptr);
             real().stream_synchronize(hidden_stream(), nullptr);
           }
           return result;
         };
       }},
      {"graph-launch-out-of-order", "a run is in the stream's order",
       [](Table& t) {
         t.graph_launch = [](weir_graph graph, Stream, Status* e) {
           return real().graph_launch(graph, hidden_stream(), e);
         };
       }},
      {"graph-launch-waits", "graph_launch returns at once",
       [](Table& t) {
         t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
           const weir_result result = real().graph_launch(graph, s, e);
           real().stream_synchronize(s, nullptr);
           return result;
         };
       }},
      {"graph-launch-dropped-rarely", "each launch is one run",
       [](Table& t) {
         t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
           static std::atomic<int> count{0};
           return ++count % 7 == 0 ? weir_result{WEIR_OK} : real().graph_launch(graph, s, e);
         };
       }},
      {"graph-launch-runs-twice", "each launch is one run",
       [](Table& t) {
         t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
           real().graph_launch(graph, s, nullptr);
           return real().graph_launch(graph, s, e);
         };
       }},
      {"graph-destroy-waits", "destroying never blocks",
       [](Table& t) {
         static std::atomic<Stream> last{nullptr};
         t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
           last = s;
           return real().graph_launch(graph, s, e);
         };
         t.graph_destroy = [](weir_graph graph, Status* e) {
           if (const Stream s = last) real().stream_synchronize(s, nullptr);
           return real().graph_destroy(graph, e);
         };
       }},
      {"graph-update-ignored", "an update changes later runs",
       [](Table& t) {
         t.graph_update = [](weir_graph graph, std::uint32_t index, const Node* node, Status* e) {
           if (node->kind == WEIR_GRAPH_KERNEL) {
             const weir_result result = real().graph_update(graph, index, node, e);
             if (result != WEIR_OK) return result;
             return weir_result{WEIR_OK};
           }
           return index == 0 && node->destination_offset + node->size > size_of(node->destination)
                      ? real().graph_update(graph, index, node, e)
                      : weir_result{WEIR_OK};
         };
       }},
      {"graph-update-of-kernels-ignored", "an update changes later runs",
       [](Table& t) {
         t.graph_update = [](weir_graph graph, std::uint32_t index, const Node* node, Status* e) {
           return node->kind == WEIR_GRAPH_KERNEL ? weir_result{WEIR_OK}
                                                  : real().graph_update(graph, index, node, e);
         };
       }},
      {"graph-update-may-change-the-kind", "a node keeps its kind and kernel",
       [](Table& t) {
         t.graph_update = [](weir_graph graph, std::uint32_t index, const Node* node, Status* e) {
           const weir_result result = real().graph_update(graph, index, node, e);
           return result == WEIR_ERROR_INVALID && node->kind == WEIR_GRAPH_FILL && index == 0 &&
                          node->size == 64 && node->destination_offset == 0
                      ? weir_result{WEIR_OK}
                      : result;
         };
       }},
      {"graph-update-index-unchecked", "an update names a node of the graph",
       [](Table& t) {
         t.graph_update = [](weir_graph graph, std::uint32_t index, const Node* node, Status* e) {
           const weir_result result = real().graph_update(graph, index, node, e);
           return result == WEIR_ERROR_INVALID && index > 0 ? weir_result{WEIR_OK} : result;
         };
       }},
      {"graph-update-range-unchecked", "an update is checked",
       [](Table& t) {
         t.graph_update = [](weir_graph graph, std::uint32_t index, const Node* node, Status* e) {
           const weir_result result = real().graph_update(graph, index, node, e);
           return result == WEIR_ERROR_INVALID && node->destination_offset == 1 ? weir_result{WEIR_OK}
                                                                                : result;
         };
       }},
      {"graph-update-of-what-was-submitted", "launches that were submitted keep their parameters",
       [](Table& t) {
         // Defers submission to the next synchronisation.
         static std::mutex mutex;
         static std::vector<weir_graph> waiting;
         t.graph_launch = [](weir_graph graph, Stream, Status*) {
           std::lock_guard lock(mutex);
           waiting.push_back(graph);
           return weir_result{WEIR_OK};
         };
         t.stream_synchronize = [](Stream s, Status* e) {
           {
             std::lock_guard lock(mutex);
             for (const weir_graph graph : waiting) real().graph_launch(graph, s, nullptr);
             waiting.clear();
           }
           return real().stream_synchronize(s, e);
         };
       }},
      {"graph-update-needs-dependencies", "dependencies of an update are not read",
       [](Table& t) {
         t.graph_update = [](weir_graph graph, std::uint32_t index, const Node* node, Status* e) {
           return node->dependency_count && !node->dependencies
                      ? refuse(e, WEIR_ERROR_INVALID, "dependencies is null")
                      : real().graph_update(graph, index, node, e);
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
