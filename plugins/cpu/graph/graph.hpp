// SPDX-License-Identifier: Apache-2.0
// A graph: work that is checked and copied once, and submitted as one operation of a stream for each run.
//
// Runs are numbered from 1 and never overlap: a run on another stream than the previous run waits for that
// run's mark. Therefore the graph itself stores the state of the current run. The thread that drains the
// stream runs nodes. When several ready nodes are worth it, operations on the graph's internal streams bring
// in other threads (graph_run.cpp). An update while runs are queued does not change their parameters: it adds
// a version to the node that is valid from the next run on.
#pragma once

#include <oneapi/tbb/spin_mutex.h>

#include <array>
#include <memory>
#include <vector>

#include "device.hpp"
#include "stream/operation.hpp"

namespace weir::cpu {

struct Kernel;

/// One version of a node's parameters; its argument bytes follow it in memory.
struct alignas(16) GraphWork {
  std::atomic<GraphWork*> next{nullptr};  ///< the next newer version
  std::uint64_t from = 0;                 ///< the first run that uses it
  BlockWork work{};                       ///< zero blocks when there is nothing to do
};

struct GraphNode {
  std::uint32_t kind = WEIR_GRAPH_EMPTY;
  InLife<const Kernel> kernel;  ///< may be unloaded between runs
  std::uint32_t argument_bytes = 0;
  std::uint32_t dependencies = 0;
  std::uint32_t first_successor = 0, successors = 0;  ///< in Graph::successors

  // used by updates
  GraphWork* oldest = nullptr;  ///< oldest version that a run may still use
  GraphWork* newest = nullptr;
  GraphWork* spare = nullptr;

  // used by the run
  GraphWork* current = nullptr;
  GraphNode* next_ready = nullptr;
  bool heavy = false;                       ///< worth a separate thread
  std::atomic<std::uint32_t> waits_for{0};  ///< dependencies that have not ended
};

struct Graph : Object {
  static constexpr Kind object_kind = Kind::graph;

  Device* device = nullptr;
  std::atomic<std::uint32_t> references{0};  ///< the handle and queued runs
  std::unique_ptr<GraphNode[]> nodes;
  std::uint32_t count = 0;
  std::vector<std::uint32_t> successors;
  bool branches = false;  ///< some nodes may run concurrently

  // The caller must serialise update, launch and destroy.
  std::uint64_t launched = 0;
  Stream* last_stream = nullptr;  ///< of the newest run; one reference
  std::uint64_t last_mark = 0;

  std::atomic<std::uint64_t> finished{0};  ///< the newest finished run
  std::atomic<std::uint64_t> ticks{0};     ///< duration of the last run; 0 when none has ended

  // of the current run
  std::uint64_t run = 0;
  Stream* run_stream = nullptr;
  std::uint64_t began = 0;
  std::atomic<std::uint32_t> pending{
      0};                           ///< nodes that have not ended, and one for the thread that began the run
  std::atomic<bool> failed{false};  ///< no memory for a kernel's shared bytes
  tbb::spin_mutex ready_mutex;      ///< guards the members below
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
  parked,  ///< the stream resumes when the nodes on other threads have ended; do not access it
  yielded  ///< to other streams
};

/// Runs the graph for the stream that this thread owns. `takes_turns`: as in Scheduler::drain.
GraphProgress run_graph(Graph& graph, std::uint64_t run, Stream& stream, bool takes_turns) noexcept;

/// Helps with the current run of the graph, if any.
void help_graph(Graph& graph, std::uint32_t helper) noexcept;

}  // namespace weir::cpu
