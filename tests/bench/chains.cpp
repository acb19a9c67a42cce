// SPDX-License-Identifier: Apache-2.0
// Chains of small loops, merged, in one task, at the same time or repeated, against each loop a task.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <weir/graph.hpp>

#include "chain_kernels.hpp"
#include "paired.hpp"

namespace weir::bench {
namespace {

Device& cpu() {
  static Device one = open("cpu");
  return one;
}
Stream& cpu_stream() {
  static Stream one = cpu().create_stream();
  return one;
}

std::shared_ptr<Array<float>> ones(std::size_t size) {
  auto array = std::make_shared<Array<float>>(cpu().array<float>(size));
  array->fill(cpu_stream(), 1.0f);
  return array;
}

void add_robots(std::int64_t count) {
  static constexpr int steps = 50;
  static const Kernel merged{"robots", robots::step};
  static const Kernel apart{"robots_apart", robots::step, loops_apart()};
  struct State {
    robots::Robots ours, theirs;
    Graph merged, apart;
  };
  const auto record = [](const auto& kernel, const robots::Robots& all) {
    GraphBuilder builder(cpu());
    for (int i = 0; i < steps; ++i)
      std::apply([&](const auto&... arrays) { builder.launch(kernel, arrays...); }, all.arguments());
    return builder.build();
  };
  // Made by the first call, so that a run of other cases does not compile these kernels.
  const auto made = std::make_shared<std::unique_ptr<State>>();
  const auto state = [=]() -> State& {
    if (!*made) {
      robots::Robots ours(cpu(), count), theirs(cpu(), count);
      ours.reset(cpu_stream());
      theirs.reset(cpu_stream());
      Graph one = record(merged, ours), other = record(apart, theirs);
      one.launch(cpu_stream());
      other.launch(cpu_stream());
      if (ours.angle.to_host(cpu_stream()) != theirs.angle.to_host(cpu_stream()) ||
          ours.energy.to_host(cpu_stream()) != theirs.energy.to_host(cpu_stream()))
        throw std::runtime_error("merged loops gave other robots");
      *made = std::make_unique<State>(
          State{std::move(ours), std::move(theirs), std::move(one), std::move(other)});
    }
    return **made;
  };
  add({.name = "robots_20_loops/" + std::to_string(count),
       .bar = "at most 0.6 of a graph of 20 tasks a step",
       .samples = 11,
       .units = steps,
       .ours =
           [=] {
             state().merged.launch(cpu_stream());
             cpu_stream().synchronize();
           },
       .peer =
           [=] {
             state().apart.launch(cpu_stream());
             cpu_stream().synchronize();
           }});
}

/// 100 loops over 256 floats, each of which needs all of the one before.
void add_short_chains() {
  static const Kernel chain{"chain", hundred_loops}, apart{"apart", hundred_loops, loops_apart()},
      loop{"loop", [](View<float> x, View<float> y) { repeat(50, [&] { reverse_twice(x, y); }); }};
  const auto x = ones(256), y = ones(256);
  const auto run = [=](const auto& kernel, LaunchMode mode) {
    for (int launch = 0; launch < 20; ++launch) kernel(LaunchOptions{.mode = mode}, cpu_stream(), *x, *y);
    cpu_stream().synchronize();
  };
  add({.name = "chain_of_100_short_loops",
       .bar = "at most 0.5 of a graph of 100 tasks",
       .samples = 31,
       .units = 20,
       .ours = [=] { run(chain, LaunchMode::automatic); },
       .peer = [=] { run(apart, LaunchMode::graph); }});
  add({.name = "repeat_of_2_short_loops_50_times",
       .bar = "at most 0.5 of a graph of 100 tasks",
       .samples = 31,
       .units = 20,
       .ours = [=] { run(loop, LaunchMode::automatic); },
       .peer = [=] { run(apart, LaunchMode::graph); }});
}

void add_independent_groups(std::size_t elements) {
  static const Kernel plain{"independent_groups", independent_groups},
      blocks{"groups_in_blocks", groups_in_blocks};
  std::vector<std::shared_ptr<Array<float>>> a;
  for (int k = 0; k < 8; ++k) a.push_back(ones(elements));
  const auto run = [=](const auto& kernel) {
    for (int launch = 0; launch < 20; ++launch)
      kernel(cpu_stream(), *a[0], *a[1], *a[2], *a[3], *a[4], *a[5], *a[6], *a[7]);
    cpu_stream().synchronize();
  };
  add({.name = "independent_groups_of_5_loops/" + std::to_string(elements),
       .bar = "at most 1.1 of the same with stream_parallel blocks",
       .samples = 31,
       .units = 20,
       .ours = [=] { run(plain); },
       .peer = [=] { run(blocks); }});
}

void add_compile_time() {
  add({.name = "compile_31_loops",
       .bar = "at most 1.3 of each loop a task",
       .samples = 5,
       .ours = [] { seconds_to_compile(cpu(), {}); },
       .peer = [] { seconds_to_compile(cpu(), loops_apart()); }});
}

}  // namespace

void add_chain_cases() {
  for (const std::int64_t count : {4096, 65536}) add_robots(count);
  add_short_chains();
  for (const std::size_t elements : {256, 4096, 65536}) add_independent_groups(elements);
  add_compile_time();
}

}  // namespace weir::bench
