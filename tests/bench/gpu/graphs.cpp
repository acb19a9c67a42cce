// SPDX-License-Identifier: Apache-2.0
// Graphs of many small tasks in sequence, run repeatedly.
#include <memory>
#include <stdexcept>
#include <string>
#include <weir/graph.hpp>

#include "cuda_api.hpp"
#include "device.hpp"
#include "figures.hpp"

namespace weir::bench::gpu {
namespace {

CUgraphExec chain_of(int tasks, CUfunction function, CUdeviceptr* address) {
  const Cuda& api = cuda();
  CUgraph graph = nullptr;
  check(api.GraphCreate(&graph, 0), "cuGraphCreate");
  void* arguments[] = {address};
  const KernelNode parameters{function, 1, 1, 1, 1, 1, 1, 0, arguments, nullptr, nullptr, nullptr};
  CUgraphNode last = nullptr;
  for (int i = 0; i < tasks; ++i) {
    CUgraphNode node = nullptr;
    check(api.GraphAddKernelNode(&node, graph, last ? &last : nullptr, last ? 1 : 0, &parameters),
          "cuGraphAddKernelNode");
    last = node;
  }
  CUgraphExec ready = nullptr;
  check(api.GraphInstantiateWithFlags(&ready, graph, 0), "cuGraphInstantiate");
  return ready;
}

void add_chain(int tasks) {
  const int runs = tasks >= 1000 ? 10 : 50;  // per sample
  add({.name = "graph_of_tasks/" + std::to_string(tasks),
       .peer = "cuGraphLaunch",
       .bar = at_most<1100>(),
       .prepare =
           [=] {
             struct State {
               Stream stream = device().create_stream();
               Array<std::uint32_t> ours = device().array<std::uint32_t>(stream, 1),
                                    theirs = device().array<std::uint32_t>(stream, 1);
               std::unique_ptr<Graph> graph;
               CUdeviceptr address = 0;
               CUgraphExec by_hand = nullptr;
               CUstream stream_by_hand = make_stream();
             };
             auto state = std::make_shared<State>();
             state->ours.fill(state->stream, 0);
             state->theirs.fill(state->stream, 0);
             state->stream.synchronize();
             GraphBuilder builder(device());
             const KernelFunction function = bump();
             for (int i = 0; i < tasks; ++i) builder.launch(function, {}, {state->ours});
             state->graph = std::make_unique<Graph>(builder.build());
             state->address = state->theirs.device_address();
             state->by_hand = chain_of(tasks, load(kernel_text(), "bump"), &state->address);
             return Sides{.ours =
                              [=] {
                                const double begin = now();
                                for (int i = 0; i < runs; ++i) state->graph->launch(state->stream);
                                state->stream.synchronize();
                                return (now() - begin) / runs;
                              },
                          .peer =
                              [=] {
                                const Cuda& api = cuda();
                                const double begin = now();
                                for (int i = 0; i < runs; ++i)
                                  check(api.GraphLaunch(state->by_hand, state->stream_by_hand),
                                        "cuGraphLaunch");
                                check(api.StreamSynchronize(state->stream_by_hand), "cuStreamSynchronize");
                                return (now() - begin) / runs;
                              },
                          .check =
                              [=] {
                                const auto ours = state->ours.to_host(state->stream)[0],
                                           theirs = state->theirs.to_host(state->stream)[0];
                                if (ours == 0 || ours != theirs)
                                  throw std::runtime_error("the graphs counted " + std::to_string(ours) +
                                                           " and " + std::to_string(theirs));
                              }};
           },
       .samples = 21});
}

}  // namespace

void add_graph_cases() {
  for (const int tasks : {10, 100, 1000}) add_chain(tasks);
}

}  // namespace weir::bench::gpu
