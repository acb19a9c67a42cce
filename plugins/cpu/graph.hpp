// SPDX-License-Identifier: Apache-2.0
// A graph: work that is checked and copied once, and then run by one operation of a stream each time.
//
// Runs are numbered from 1 and never overlap: a run on another stream than the run before waits for that
// one's mark. So what a run needs while it runs stands in the graph itself. The thread that drains the stream
// runs nodes; where several are ready that are worth it, operations on streams of the graph's own bring other
// threads in (graph_run.cpp). An update while runs are queued leaves them their parameters: it adds a version
// to the node that counts from the next run on.
#pragma once

#include <oneapi/tbb/spin_mutex.h>

#include <array>
#include <memory>
#include <vector>

#include "device.hpp"
#include "operation.hpp"

namespace weir::cpu {

struct Kernel;

/// One version of a node's parameters; its argument bytes follow it in memory.
struct alignas(16) GraphWork {
  std::atomic<GraphWork*> next{nullptr};  ///< the next newer version
  std::uint64_t from = 0;                 ///< the first run that it counts for
  BlockWork work{};                       ///< of no blocks where there is nothing to do
};

struct GraphNode {
  std::uint32_t kind = WEIR_GRAPH_EMPTY;
  InLife<const Kernel> kernel;  ///< may be unloaded while the graph rests
  std::uint32_t argument_bytes = 0;
  std::uint32_t dependencies = 0;
  std::uint32_t first_successor = 0, successors = 0;  ///< in Graph::successors

  // of those who update
  GraphWork* oldest = nullptr;  ///< that a run may still use
  GraphWork* newest = nullptr;
  GraphWork* spare = nullptr;

  // of the run
  GraphWork* current = nullptr;
  GraphNode* next_ready = nullptr;
  bool heavy = false;                       ///< worth a thread of its own
  std::atomic<std::uint32_t> waits_for{0};  ///< dependencies that have not ended
};

struct Graph : Object {
  static constexpr Kind object_kind = Kind::graph;

  Device* device = nullptr;
  std::atomic<std::uint32_t> references{0};  ///< handle, queued runs
  std::unique_ptr<GraphNode[]> nodes;
  std::uint32_t count = 0;
  std::vector<std::uint32_t> successors;
  bool branches = false;  ///< some nodes may run beside others

  // The caller keeps update, launch and destroy apart.
  std::uint64_t launched = 0;
  Stream* last_stream = nullptr;  ///< of the newest run; one reference
  std::uint64_t last_mark = 0;

  std::atomic<std::uint64_t> finished{0};  ///< the newest run that is done
  std::atomic<std::uint64_t> ticks{0};     ///< what the last run took; 0 when none ended yet

  // of the run under way
  std::uint64_t run = 0;
  Stream* run_stream = nullptr;
  std::uint64_t began = 0;
  std::atomic<std::uint32_t> pending{
      0};                           ///< nodes that have not ended, and one for the thread that began the run
  std::atomic<bool> failed{false};  ///< there was no memory for a kernel's shared bytes
  tbb::spin_mutex ready_mutex;      ///< guards the next
  GraphNode* first_ready = nullptr;

  static constexpr unsigned max_helpers = 15;
  struct Helper {
    Stream* stream = nullptr;  ///< one reference
    std::atomic<bool> called{false};
  };
  std::array<Helper, max_helpers> helpers;
  unsigned helper_count = 0;

  void drop_reference() noexcept;
};

enum class GraphProgress {
  done,
  parked,  ///< the stream goes on when the nodes that run elsewhere have ended; it must not be touched
  yielded  ///< to other streams
};

/// Runs the graph for the stream that this thread owns. `takes_turns`: as in Scheduler::drain.
GraphProgress run_graph(Graph& graph, std::uint64_t run, Stream& stream, bool takes_turns) noexcept;

/// Helps with whatever run of the graph is under way.
void help_graph(Graph& graph, std::uint32_t helper) noexcept;

}  // namespace weir::cpu
