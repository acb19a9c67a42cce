// SPDX-License-Identifier: Apache-2.0
// Chains of small loops: merged, in one block, and at the same time, against each loop a task in a graph, and
// against hand-written CUDA kernels.
#include <array>
#include <map>
#include <tuple>
#include <vector>
#include <weir/graph.hpp>

#include "../chain_kernels.hpp"
#include "against_twin.hpp"

namespace weir::bench::gpu {
namespace {

// ---- the step of many robots

constexpr int graph_steps = 50;  // in one graph

using RobotKernel = decltype(Kernel{"", robots::step});

const RobotKernel& merged_step() {
  static const RobotKernel kernel{"robots", robots::step};
  return kernel;
}
const RobotKernel& separate_step() {
  static const RobotKernel kernel{"robots_apart", robots::step, loops_apart()};
  return kernel;
}

Graph graph_of(const RobotKernel& kernel, const robots::Robots& all) {
  GraphBuilder record(device());
  for (int i = 0; i < graph_steps; ++i)
    std::apply([&](const auto&... arrays) { record.launch(kernel, arrays...); }, all.arguments());
  return record.build();
}

/// A graph of the calls that `submit` makes on a stream. Null if it returns -1, for an unknown variant.
template <class Submit>
CUgraphExec captured(const Submit& submit) {
  const Cuda& api = cuda();
  const CUstream stream = make_stream();
  check(api.StreamBeginCapture(stream, capture_thread_local), "cuStreamBeginCapture");
  const int result = submit(stream);
  CUgraph graph = nullptr;
  check(api.StreamEndCapture(stream, &graph), "cuStreamEndCapture");
  if (result == -1) return nullptr;
  check(result, "a launch that was captured");
  CUgraphExec ready = nullptr;
  check(api.GraphInstantiateWithFlags(&ready, graph, 0), "cuGraphInstantiate");
  return ready;
}

void expect_equal_robots(const robots::Robots& a, const robots::Robots& b, double tolerance) {
  expect_equal<float>(a.angle.flat(), b.angle.flat(), tolerance, "the angles");
  expect_equal<float>(a.height, b.height, tolerance, "the heights");
  expect_equal<float>(a.mass.flat(), b.mass.flat(), tolerance, "the mass matrices");
  expect_equal<float>(a.acceleration.flat(), b.acceleration.flat(), 100 * tolerance, "the accelerations");
  expect_equal<float>(a.energy, b.energy, tolerance, "the energies");
}

/// Graph launches per sample.
int runs_of(std::int64_t count) {
  return count > 100'000 ? 2 : 10;
}

struct TwoGroups {
  explicit TwoGroups(std::int64_t count) : ours(device(), count), theirs(device(), count) {}
  void reset() {
    const StreamRef stream = device().default_stream();
    ours.reset(stream);
    theirs.reset(stream);
  }
  robots::Robots ours, theirs;
};

template <int Thousandths>
void add_merged_robots(std::int64_t count) {
  add({.name = "robots_against_loops_apart/" + std::to_string(count),
       .peer = "a graph of 20 tasks a step",
       .bar = at_most<Thousandths>(),
       .prepare =
           [count] {
             struct State : TwoGroups {
               using TwoGroups::TwoGroups;
               Graph merged = graph_of(merged_step(), ours), separate = graph_of(separate_step(), theirs);
               Stream stream = device().create_stream();
             };
             const auto state = std::make_shared<State>(count);
             state->reset();
             const auto timed = [=](const Graph& graph) {
               return per_run(
                          runs_of(count), [&] { graph.launch(state->stream); },
                          [&] { state->stream.synchronize(); }) /
                      graph_steps;
             };
             return Sides{.ours = [=] { return timed(state->merged); },
                          .peer = [=] { return timed(state->separate); },
                          .check =
                              [=] {
                                state->reset();
                                state->merged.launch(state->stream);
                                state->separate.launch(state->stream);
                                state->stream.synchronize();
                                expect_equal_robots(state->ours, state->theirs, 0);
                              }};
           },
       .samples = 11});
}

void add_robots_by_hand(std::int64_t count) {
  add({.name = "robots_against_one_kernel/" + std::to_string(count),
       .peer = "nvcc -O3, a thread a robot",
       .bar = at_most<1150>(),
       .prepare =
           [count] {
             struct State : TwoGroups {
               explicit State(std::int64_t n) : TwoGroups(n), number(n) {
                 std::apply([&](const auto&... array) { addresses = {array.device_address()...}; },
                            theirs.arguments());
               }
               /// 0, an error, or -1 for an unknown variant.
               int launch_theirs(int variant, CUstream s) {
                 CUgraphExec& graph = graphs[variant];
                 if (!graph)
                   graph = captured([&](CUstream to) {
                     return twin().robots(variant, addresses.data(), number, graph_steps, to);
                   });
                 return graph ? cuda().GraphLaunch(graph, s) : -1;
               }
               std::int64_t number;
               Graph merged = graph_of(merged_step(), ours);
               std::vector<CUdeviceptr> addresses;
               std::map<int, CUgraphExec> graphs;
             };
             const auto state = std::make_shared<State>(count);
             state->reset();
             Sides both = sides(
                 runs_of(count), [=](const Stream& s) { state->merged.launch(s); },
                 [=](int variant, CUstream s) { return state->launch_theirs(variant, s); },
                 [=] {
                   state->reset();
                   state->merged.launch(device().default_stream());
                   device().synchronize();
                   const CUstream s = make_stream();
                   check(state->launch_theirs(0, s), "the twin's graph");
                   check(cuda().StreamSynchronize(s), "cuStreamSynchronize");
                   expect_equal_robots(state->ours, state->theirs, 1e-3);
                 });
             const auto a_step = [](std::function<double()> side) {
               return [side = std::move(side)] { return side() / graph_steps; };
             };
             both.ours = a_step(std::move(both.ours));
             both.peer = a_step(std::move(both.peer));
             return both;
           },
       .samples = 11});
}

// ---- chains of one block, and loops that do not depend on each other

using Line = Array<float>;

template <std::size_t Count>
std::array<Line, Count> lines(std::int64_t size, float value) {
  std::array<Line, Count> all;
  for (Line& one : all) {
    one = device().array<float>(size);
    one.fill(value);
  }
  device().synchronize();
  return all;
}

/// Launches of two kernels as graphs, each over arrays of its own.
template <std::size_t Count, class Ours, class Theirs>
Sides as_graphs(const Ours& ours, const Theirs& theirs, std::int64_t size, int repeats) {
  struct State {
    Stream stream = device().create_stream();
    std::array<Line, Count> ours, theirs;
  };
  const auto state = std::make_shared<State>();
  state->ours = lines<Count>(size, 1.0f);
  state->theirs = lines<Count>(size, 1.0f);
  const auto timed = [=](const auto& kernel, const std::array<Line, Count>& arrays) {
    return per_run(
        repeats,
        [&] {
          std::apply(
              [&](const auto&... array) {
                kernel(LaunchOptions{.mode = LaunchMode::graph}, state->stream, array...);
              },
              arrays);
        },
        [&] { state->stream.synchronize(); });
  };
  return {.ours = [=, &ours] { return timed(ours, state->ours); },
          .peer = [=, &theirs] { return timed(theirs, state->theirs); },
          .check =
              [=] {
                for (std::size_t k = 0; k < Count; ++k)
                  expect_equal<float>(state->ours[k], state->theirs[k], 0, "an array of a chain");
              }};
}

void add_independent_groups() {
  add({.name = "independent_groups_of_5_loops/4096",
       .peer = "stream_parallel blocks",
       .bar = at_most<1100>(),
       .prepare =
           [] {
             static const Kernel plain{"independent_groups", independent_groups};
             static const Kernel blocks{"groups_in_blocks", groups_in_blocks};
             return as_graphs<8>(plain, blocks, 4096, 100);
           },
       .samples = 21});
}

void add_short_chain() {
  add({.name = "chain_of_100_loops_of_256_elements",
       .peer = "a graph of 100 tasks",
       .bar = at_most<250>(),
       .prepare =
           [] {
             static const Kernel chain{"chain_of_100", hundred_loops};
             static const Kernel apart{"chain_of_100_apart", hundred_loops, loops_apart()};
             return as_graphs<2>(chain, apart, 256, 50);
           },
       .samples = 21});
}

// ---- maps that share large arrays

constexpr auto six_maps = [](View<const float> position, View<const float> speed, View<float> force,
                             View<float> next_speed, View<float> next_position, View<float> energy) {
  const Index n = position.size();
  range_for(n, [&](Index i) { force[i] = -4.0f * position[i]; });
  range_for(n, [&](Index i) { force[i] -= 0.5f * speed[i]; });
  range_for(n, [&](Index i) { next_speed[i] = speed[i] + 0.01f * force[i]; });
  range_for(n, [&](Index i) { next_position[i] = position[i] + 0.01f * next_speed[i]; });
  range_for(n, [&](Index i) { energy[i] = 0.5f * next_speed[i] * next_speed[i]; });
  range_for(n, [&](Index i) { energy[i] += 2.0f * next_position[i] * next_position[i]; });
};

using MapKernel = decltype(Kernel{"", six_maps});
const MapKernel& merged_maps() {
  static const MapKernel kernel{"six_maps", six_maps};
  return kernel;
}

struct Maps {
  static constexpr std::int64_t n = std::int64_t{64} << 20;
  Line position = device().array<float>(n), speed = device().array<float>(n);
  std::array<Line, 4> ours = lines<4>(n, 0.0f), theirs = lines<4>(n, 0.0f);

  Maps() {
    fill_random(position);
    fill_random(speed);
  }
  void launch(const MapKernel& kernel, const std::array<Line, 4>& to, const Stream& stream) const {
    kernel(stream, position, speed, to[0], to[1], to[2], to[3]);
  }
  void compare(double tolerance) const {
    for (std::size_t k = 0; k < ours.size(); ++k)
      expect_equal<float>(ours[k], theirs[k], tolerance, "an array of the maps");
  }
};

void add_maps_apart() {
  add({.name = "six_maps_of_64_Mi/against_loops_apart",
       .peer = "each loop a task",
       .bar = at_most<500>(),
       .prepare =
           [] {
             static const MapKernel apart{"six_maps_apart", six_maps, loops_apart()};
             const auto state = std::make_shared<Maps>();
             const auto stream = std::make_shared<Stream>(device().create_stream());
             const auto timed = [=](const MapKernel& kernel, const std::array<Line, 4>& to) {
               return per_run(
                   5, [&] { state->launch(kernel, to, *stream); }, [&] { stream->synchronize(); });
             };
             return Sides{.ours = [=] { return timed(merged_maps(), state->ours); },
                          .peer = [=] { return timed(apart, state->theirs); },
                          .check = [=] { state->compare(0); }};
           },
       .samples = 11});
}

void add_maps_by_hand() {
  add({.name = "six_maps_of_64_Mi/against_one_kernel",
       .peer = "nvcc -O3",
       .bar = at_most<1030>(),
       .prepare =
           [] {
             const auto state = std::make_shared<Maps>();
             return sides(
                 5, [=](const Stream& s) { state->launch(merged_maps(), state->ours, s); },
                 [=](int variant, CUstream s) {
                   return twin().six_maps(
                       variant, state->position.device_address(), state->speed.device_address(),
                       state->theirs[0].device_address(), state->theirs[1].device_address(),
                       state->theirs[2].device_address(), state->theirs[3].device_address(), Maps::n, s);
                 },
                 [=] { state->compare(1e-6); });
           },
       .samples = 11});
}

void add_compile_time() {
  add({.name = "compile_31_loops",
       .peer = "each loop a task",
       .bar = at_most<1300>(),
       .prepare =
           [] {
             return Sides{.ours = [] { return seconds_to_compile(device(), {}); },
                          .peer = [] { return seconds_to_compile(device(), loops_apart()); }};
           },
       .samples = 5});
}

}  // namespace

void add_chain_cases() {
  add_merged_robots<160>(4096);
  add_merged_robots<260>(65536);
  for (const std::int64_t count : {1024, 4096, 16384, 65536, 262144}) add_robots_by_hand(count);
  add_independent_groups();
  add_short_chain();
  add_maps_apart();
  add_maps_by_hand();
  add_compile_time();
}

}  // namespace weir::bench::gpu
