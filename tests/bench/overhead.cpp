// SPDX-License-Identifier: Apache-2.0
// Costs of launching, forking and allocating, with minimal work inside.
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "paired.hpp"
#include "peers.hpp"

namespace weir::bench {
namespace {

struct Machine {
  Device device = open("cpu");
  Stream stream = device.create_stream();
};
Machine& machine() {
  static Machine one;
  return one;
}

// The grid that Weir chooses depends on the work, so an empty kernel with `blocks` blocks needs a precompiled
// code object.
void add_launch(std::size_t blocks, const KernelFunction& empty) {
  add({.name = "launch_and_wait_empty/" + std::to_string(blocks) + "_blocks",
       .bar = "at most 1.5x tbb::parallel_for",
       .repeats = 20'000,  // milliseconds for a sample: the first wait after a pause wakes a thread
       .samples = 21,
       .ours =
           [blocks, empty] {
             empty.launch(machine().stream, {.grid = Dim3(static_cast<std::uint32_t>(blocks))}, {});
             machine().stream.synchronize();
           },
       .peer = [blocks] { peer::parallel_for_empty(blocks); }});
}

void add_enqueue(const KernelFunction& empty, const KernelFunction& gate) {
  // A waiting kernel keeps the stream busy, so that only submission is timed.
  auto run = [empty, gate](benchmark::State& state) {
    Stream& stream = machine().stream;
    constexpr int launches = 1000;
    std::vector<double> samples;
    for (auto _ : state) {
      std::atomic<std::uint32_t> open_gate{0};
      gate.launch(stream, {}, {reinterpret_cast<std::uint64_t>(&open_gate)});
      stream.flush();
      const double seconds = seconds_of([&] {
        for (int i = 0; i < launches; ++i) empty.launch(stream, {}, {});
      });
      open_gate.store(1);
      stream.synchronize();
      state.SetIterationTime(seconds / launches);
      samples.push_back(seconds / launches);
    }
    state.counters["ours_us"] = median(samples) * 1e6;
    state.SetLabel("at most 1 us");
  };
  benchmark::RegisterBenchmark("enqueue_on_busy_stream", run)
      ->UseManualTime()
      ->Iterations(21)
      ->Unit(benchmark::kMicrosecond);
}

void add_regions(const KernelFunction& empty) {
  for (std::int32_t blocks : {1, 2, 4, 8}) {
    auto list = std::make_shared<TaskList>(machine().device);
    for (std::int32_t block = 0; block < blocks; ++block) list->add(empty, {}, {}, {.region = 0, .block = block});
    add({.name = "region_fork_to_join/" + std::to_string(blocks) + "_empty_blocks",
         .bar = blocks == 4 ? "at most 8 us" : "",
         .repeats = 500,
         .samples = 21,
         .ours =
             [list] {
               list->launch(machine().stream);
               machine().stream.synchronize();
             },
         .peer = {}});
  }
}

// The same region as a recorded graph with a new argument for every node at each run, compared with streams.
void add_region_graphs(const KernelFunction& spin) {
  for (std::int32_t blocks : {2, 4, 8}) {
    struct Recorded {
      std::vector<GraphNode> nodes;
      Graph graph;
      std::uint64_t steps = 0;
    };
    GraphBuilder record(machine().device);
    std::vector<GraphNode> nodes;
    const auto branch = [&] { nodes.push_back(record.launch(spin, LaunchShape{}, {std::uint64_t{0}})); };
    if (blocks == 2) record.parallel(branch, branch);
    if (blocks == 4) record.parallel(branch, branch, branch, branch);
    if (blocks == 8) record.parallel(branch, branch, branch, branch, branch, branch, branch, branch);
    auto recorded = std::make_shared<Recorded>(Recorded{nodes, record.build()});
    auto list = std::make_shared<TaskList>(machine().device);
    for (std::int32_t block = 0; block < blocks; ++block)
      list->add(spin, {}, {std::uint64_t{0}}, {.region = 0, .block = block});
    add({.name = "region_as_graph_with_new_arguments/" + std::to_string(blocks) + "_blocks",
         .bar = "against the region over streams",
         .repeats = 500,
         .samples = 21,
         .ours =
             [recorded] {
               recorded->steps ^= 1;
               for (const GraphNode& node : recorded->nodes)
                 recorded->graph.update(node, LaunchShape{}, {recorded->steps});
               recorded->graph.launch(machine().stream);
               machine().stream.synchronize();
             },
         .peer =
             [list] {
               list->launch(machine().stream);
               machine().stream.synchronize();
             }});
  }
}

// A chain of empty kernels as one graph, compared with separate launches.
void add_chain_graphs(const KernelFunction& empty) {
  for (int tasks : {10, 100, 1000}) {
    GraphBuilder record(machine().device);
    for (int i = 0; i < tasks; ++i) record.launch(empty, LaunchShape{}, {});
    auto graph = std::make_shared<Graph>(record.build());
    add({.name = "graph_launch_and_wait/" + std::to_string(tasks) + "_tasks",
         .bar = "against the launches one by one",
         .repeats = 10'000 / tasks,
         .samples = 21,
         .ours =
             [graph] {
               graph->launch(machine().stream);
               machine().stream.synchronize();
             },
         .peer =
             [empty, tasks] {
               for (int i = 0; i < tasks; ++i) empty.launch(machine().stream, {}, {});
               machine().stream.synchronize();
             }});
  }
}

// A kernel of two concurrent small loops, launched with a changing value, in both modes.
void add_kernel_modes() {
  static Kernel both{"both", [](View<float> x, View<float> y, Value<float> a) {
                       stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + a; }); });
                       stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = y[i] - a; }); });
                     }};
  static const auto x = machine().device.array<float>(machine().stream, 64),
                    y = machine().device.array<float>(machine().stream, 64);
  x.fill(machine().stream, 0.0f);
  y.fill(machine().stream, 0.0f);
  const auto run = [value = std::make_shared<float>(0.0f)](LaunchMode mode) {
    *value += 1.0f;
    both(LaunchOptions{.mode = mode}, machine().stream, x, y, *value);
    machine().stream.synchronize();
  };
  add({.name = "kernel_of_two_blocks_as_graph",
       .bar = "against streams",
       .repeats = 500,
       .samples = 21,
       .ours = [run] { run(LaunchMode::graph); },
       .peer = [run] { run(LaunchMode::streams); }});
}

// proves R21
void add_concurrency(const KernelFunction& spin) {
  // Single-core work of about a millisecond each; the peer runs the same four in sequence.
  constexpr std::uint64_t steps = 2'000'000;
  auto concurrent = std::make_shared<TaskList>(machine().device);
  auto sequential = std::make_shared<TaskList>(machine().device);
  for (std::int32_t block = 0; block < 4; ++block) {
    concurrent->add(spin, {}, {steps}, {.region = 0, .block = block});
    sequential->add(spin, {}, {steps});
  }
  auto run = [](const std::shared_ptr<TaskList>& list) {
    list->launch(machine().stream);
    machine().stream.synchronize();
  };
  add({.name = "four_one_core_blocks_against_one_at_a_time",
       .bar = "at least 1.8x on 2 cores",
       .samples = 31,
       .ours = [=] { run(concurrent); },
       .peer = [=] { run(sequential); },
       .higher_is_better = true});
}

void add_pool() {
  add({.name = "pool_allocate_and_free",
       .bar = "at most 0.3 us",
       .repeats = 10000,
       .samples = 21,
       .ours = [] { benchmark::DoNotOptimize(machine().device.array<float>(machine().stream, 4096)); },
       .peer = {}});
}

}  // namespace

Module load_bench_kernels(const Device& device);

void add_overhead_cases() {
  static const Module kernels = load_bench_kernels(machine().device);
  const KernelFunction empty = kernels.kernel("empty", {});
  const KernelFunction gate = kernels.kernel("gate", {KernelParameter::of<std::uint64_t>()});
  const KernelFunction spin = kernels.kernel("spin", {KernelParameter::of<std::uint64_t>()});
  for (std::size_t blocks : {1, 2, 16}) add_launch(blocks, empty);
  add_enqueue(empty, gate);
  add_regions(empty);
  add_region_graphs(spin);
  add_chain_graphs(empty);
  add_kernel_modes();
  add_concurrency(spin);
  add_pool();
}

}  // namespace weir::bench
