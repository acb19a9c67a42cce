// SPDX-License-Identifier: Apache-2.0
// A graph of tasks in sequence against one command buffer of the same dispatches with barriers between them,
// recorded once, and submitted once for each run.
#include <memory>
#include <stdexcept>
#include <string>
#include <weir/graph.hpp>

#include "by_hand.hpp"
#include "cases.hpp"
#include "device.hpp"

namespace weir::bench::vulkan {
namespace {

void add_chain(int tasks) {
  add({.name = "graph_of_tasks/" + std::to_string(tasks),
       .peer = "one command buffer",
       .bar = at_most<1100>(),
       .prepare =
           [=] {
             constexpr int runs = 20;
             struct State {
               Stream stream = device().create_stream();
               Array<std::uint32_t> number = device().array<std::uint32_t>(stream, 1);
               std::unique_ptr<Graph> graph;
               ByHand& by_hand = ByHand::get();
               Buffer their_number = by_hand.mapped_buffer(sizeof(std::uint32_t));
               VkCommandBuffer commands = VK_NULL_HANDLE;
             };
             auto state = std::make_shared<State>();
             state->number.fill(state->stream, 0u);
             state->stream.synchronize();
             GraphBuilder builder(device());
             const KernelFunction function = load_bump();
             for (int i = 0; i < tasks; ++i) builder.launch(function, {}, {state->number});
             state->graph = std::make_unique<Graph>(builder.build());
             *static_cast<volatile std::uint32_t*>(state->their_number.host) = 0;
             state->commands = state->by_hand.record(state->by_hand.pipeline(bump.by_hand, 1),
                                                     Arguments(state->their_number.address), 1, tasks);
             return Sides{.ours =
                              [=] {
                                return per_run(
                                    runs, [&] { state->graph->launch(state->stream); },
                                    [&] { state->stream.synchronize(); });
                              },
                          .peer =
                              [=] {
                                return per_run(
                                    runs, [&] { state->by_hand.submit(state->commands); },
                                    [&] { state->by_hand.wait(); });
                              },
                          .check =
                              [=] {
                                const std::uint32_t a = state->number.to_host(state->stream)[0];
                                const std::uint32_t b =
                                    *static_cast<const volatile std::uint32_t*>(state->their_number.host);
                                if (a == 0 || a != b)
                                  throw std::runtime_error("the graphs counted " + std::to_string(a) +
                                                           " and " + std::to_string(b));
                              }};
           },
       .samples = 21});
}

}  // namespace

void add_graph_cases() {
  for (const int tasks : {10, 100, 1000}) add_chain(tasks);
}

}  // namespace weir::bench::vulkan
