// SPDX-License-Identifier: Apache-2.0
// What launching, forking and allocating cost, with next to no work inside.
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

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

// The grid that Weir chooses depends on the work, so an empty kernel of `blocks` blocks is a ready code object's affair.
void add_launch(std::size_t blocks, const KernelFunction& empty) {
  add({.name = "launch_and_wait_empty/" + std::to_string(blocks) + "_blocks",
       .bar = "at most 1.5x tbb::parallel_for",
       .repeats = 2000,
       .samples = 21,
       .ours =
           [blocks, empty] {
             empty.launch(machine().stream, {.grid = Dim3(static_cast<std::uint32_t>(blocks))}, {});
             machine().stream.synchronize();
           },
       .peer = [blocks] { peer::parallel_for_empty(blocks); }});
}

void add_enqueue(const KernelFunction& empty, const KernelFunction& gate) {
  // The stream is kept busy by a kernel that waits, so that nothing but submitting is timed.
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

// proves R21
void add_concurrency(const KernelFunction& spin) {
  // One-core work of about a millisecond each; the peer runs the same four one after the other.
  constexpr std::uint64_t steps = 2'000'000;
  auto beside = std::make_shared<TaskList>(machine().device);
  auto after = std::make_shared<TaskList>(machine().device);
  for (std::int32_t block = 0; block < 4; ++block) {
    beside->add(spin, {}, {steps}, {.region = 0, .block = block});
    after->add(spin, {}, {steps});
  }
  auto run = [](const std::shared_ptr<TaskList>& list) {
    list->launch(machine().stream);
    machine().stream.synchronize();
  };
  add({.name = "four_one_core_blocks_against_one_at_a_time",
       .bar = "at least 1.8x on 2 cores",
       .samples = 31,
       .ours = [=] { run(beside); },
       .peer = [=] { run(after); },
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
  add_concurrency(spin);
  add_pool();
}

}  // namespace weir::bench
