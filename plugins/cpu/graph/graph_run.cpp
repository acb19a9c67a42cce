// SPDX-License-Identifier: Apache-2.0
// One run of a graph. A node is ready when its dependencies have ended. A thread that ends a node continues
// with one node that became ready by that and lists the others. For each listed node that is worth it, an
// operation on an internal stream of the graph brings in another thread when a core is free. The thread that
// ends the last node ends the run, so that no thread waits for another. The thread that began the run parks
// the stream when no node is left to begin.
#include <x86intrin.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "graph/graph.hpp"
#include "stream/stream.hpp"

namespace weir::cpu {
namespace {

bool run_node(GraphNode& node, std::uint64_t run) noexcept {
  for (GraphWork* newer; (newer = node.current->next.load(std::memory_order_acquire)) && newer->from <= run;)
    node.current = newer;
  const BlockWork& work = node.current->work;
  return work.blocks == 0 || run_blocks(work);
}

/// Whether the node is worth a separate thread. True for nodes without a measurement.
bool is_heavy(const GraphNode& node) noexcept {
  const BlockWork& work = node.current->work;
  return work.blocks != 0 && !(work.cost && work.cost->within(work.blocks, solo_ticks));
}

/// Brings in one more helper, if there is one; the run completes without helpers too.
void call_helper(Graph& graph) noexcept {
  for (std::uint32_t i = 0; i < graph.helper_count; ++i) {
    Graph::Helper& helper = graph.helpers[i];
    if (helper.called.exchange(true, std::memory_order_acq_rel)) continue;
    try {
      submit(*helper.stream, Weight::heavy, [&](Operation& operation) {
        operation.kind = Operation::Kind::help;
        operation.help = {&graph, i};
        graph.references.fetch_add(1, std::memory_order_relaxed);
      });
    } catch (...) {
      helper.called.store(false, std::memory_order_release);
    }
    return;
  }
}

void push(Graph& graph, GraphNode& node, bool call) noexcept {
  node.heavy = is_heavy(node);
  {
    std::lock_guard lock(graph.ready_mutex);
    node.next_ready = graph.first_ready;
    graph.first_ready = &node;
  }
  if (call && node.heavy) call_helper(graph);
}

GraphNode* pop(Graph& graph) noexcept {
  std::lock_guard lock(graph.ready_mutex);
  GraphNode* node = graph.first_ready;
  if (node) graph.first_ready = node->next_ready;
  return node;
}

/// Lists the nodes that became ready by the node's end, except one, which it returns.
GraphNode* release_successors(Graph& graph, const GraphNode& node) noexcept {
  GraphNode* next = nullptr;
  for (std::uint32_t i = node.successors; i-- > 0;) {
    GraphNode& successor = graph.nodes[graph.successors[node.first_successor + i]];
    if (successor.waits_for.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (next) push(graph, *next, true);
    next = &successor;
  }
  return next;
}

void end_run(Graph& graph) noexcept {
  if (graph.failed.load(std::memory_order_relaxed))
    graph.run_stream->error.store(WEIR_ERROR_OUT_OF_MEMORY, std::memory_order_relaxed);
  graph.ticks.store(std::max<std::uint64_t>(__rdtsc() - graph.began, 1), std::memory_order_relaxed);
  graph.finished.store(graph.run, std::memory_order_release);
}

enum class Left { nothing_ready, run_ended, turn_over };

/// Runs ready nodes. The run can end here only after the thread that began it has left it.
Left take_part(Graph& graph, bool takes_turns) noexcept {
  const std::uint64_t began = __rdtsc();
  for (GraphNode* node = pop(graph); node;) {
    if (!run_node(*node, graph.run)) graph.failed.store(true, std::memory_order_relaxed);
    GraphNode* next = release_successors(graph, *node);
    if (graph.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) return Left::run_ended;
    node = next ? next : pop(graph);
    if (node && takes_turns && __rdtsc() - began > turn_ticks && Scheduler::get().others_wait()) {
      push(graph, *node, false);
      return Left::turn_over;
    }
  }
  return Left::nothing_ready;
}

void run_in_order(Graph& graph) noexcept {
  for (std::uint32_t i = 0; i < graph.count; ++i)
    if (!run_node(graph.nodes[i], graph.run)) graph.failed.store(true, std::memory_order_relaxed);
  end_run(graph);
}

void begin_run(Graph& graph) noexcept {
  graph.pending.store(graph.count + 1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < graph.count; ++i)
    graph.nodes[i].waits_for.store(graph.nodes[i].dependencies, std::memory_order_relaxed);
  bool first = true;  // this thread takes one of the ready nodes
  for (std::uint32_t i = graph.count; i-- > 0;)
    if (graph.nodes[i].dependencies == 0) push(graph, graph.nodes[i], !std::exchange(first, false));
}

void set_state(Stream& stream, Stream::State state) noexcept {
  std::lock_guard lock(stream.mutex);
  stream.state = state;
  stream.parked_on = nullptr;
}

}  // namespace

GraphProgress run_graph(Graph& graph, std::uint64_t run, Stream& stream, bool takes_turns) noexcept {
  if (graph.run != run) {  // otherwise it resumes after it has yielded
    graph.run = run;
    graph.run_stream = &stream;
    graph.began = __rdtsc();
    graph.failed.store(false, std::memory_order_relaxed);
    const std::uint64_t before = graph.ticks.load(std::memory_order_relaxed);
    if (!graph.branches || graph.helper_count == 0 || (before != 0 && before <= solo_ticks)) {
      run_in_order(graph);
      return GraphProgress::done;
    }
    begin_run(graph);
  }
  if (take_part(graph, takes_turns) == Left::turn_over) return GraphProgress::yielded;
  set_state(stream, Stream::State::parked);
  if (graph.pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return GraphProgress::parked;
  set_state(stream, Stream::State::running);
  end_run(graph);
  return GraphProgress::done;
}

void help_graph(Graph& graph, std::uint32_t index) noexcept {
  const Left left = take_part(graph, true);
  graph.helpers[index].called.store(false, std::memory_order_release);
  if (left == Left::turn_over) call_helper(graph);  // the thread that began the run may have left
  if (left != Left::run_ended) return;
  Stream& stream = *graph.run_stream;
  end_run(graph);
  Scheduler::get().callback_done(stream);
}

}  // namespace weir::cpu
