// SPDX-License-Identifier: Apache-2.0
// Measures the gain of concurrent blocks, and the absence of a loss where there is no gain.
#include <memory>
#include <string>
#include <weir/kernel.hpp>

#include "device.hpp"
#include "figures.hpp"

namespace weir::bench::gpu {
namespace {

template <class Run>
std::function<double()> timed(std::shared_ptr<Stream> stream, int repeats, Run run) {
  return [=] {
    const double begin = now();
    for (int i = 0; i < repeats; ++i) run(*stream);
    stream->synchronize();
    return (now() - begin) / repeats;
  };
}

/// `tasks` spins in four blocks, compared with the same spins in sequence.
Sides spins(int tasks, const LaunchShape& shape, double microseconds, int repeats) {
  auto concurrent = std::make_shared<TaskList>(device()), sequential = std::make_shared<TaskList>(device());
  const std::uint64_t cycles = cycles_for(microseconds);
  for (int task = 0; task < tasks; ++task) {
    concurrent->add(spin(), shape, {cycles}, {0, task * 4 / tasks});
    sequential->add(spin(), shape, {cycles});
  }
  auto stream = std::make_shared<Stream>(device().create_stream());
  return {.ours = timed(stream, repeats, [=](const Stream& s) { concurrent->launch(s); }),
          .peer = timed(stream, repeats, [=](const Stream& s) { sequential->launch(s); })};
}

// proves R21
void add_gain() {
  add({.name = "four_one_block_kernels_in_four_blocks",
       .peer = "one stream",
       .bar = at_least<3500>(),
       .prepare = [] { return spins(4, {}, 1000, 4); },
       .samples = 15});
}

void add_full_device() {
  add({.name = "kernels_that_fill_the_device_in_blocks",
       .peer = "one stream",
       .bar = at_least<980>(),
       .prepare =
           [] {
             const LaunchShape all{Dim3(2 * device().info().multiprocessors), Dim3(1024)};
             return spins(32, all, 20, 10);
           },
       .samples = 21});
}

using A = View<float>;

template <bool Blocks>
void part(const A& x) {
  const auto loops = [&] {
    for (int i = 0; i < 4; ++i) range_for(x.size(), [&](Index j) { x[j] = x[j] * 0.999f + 1.0f; });
  };
  if constexpr (Blocks)
    stream_parallel(loops);
  else
    loops();
}

/// Four blocks of four loops each, over arrays of `size`, compared with the same loops outside of blocks.
Sides loops(std::int64_t size, int repeats) {
  static const Kernel with{
      "with_blocks", [](A a, A b, A c, A d) { part<true>(a), part<true>(b), part<true>(c), part<true>(d); }};
  static const Kernel without{"without_blocks", [](A a, A b, A c, A d) {
                                part<false>(a), part<false>(b), part<false>(c), part<false>(d);
                              }};
  auto arrays = std::make_shared<std::vector<Array<float>>>();
  auto stream = std::make_shared<Stream>(device().create_stream());
  for (int i = 0; i < 4; ++i) {
    arrays->push_back(device().array<float>(*stream, size));
    arrays->back().fill(*stream, 1.0f);
  }
  const auto run = [=](const auto& kernel) {
    return timed(stream, repeats, [=, &kernel](const Stream& s) {
      kernel(s, (*arrays)[0], (*arrays)[1], (*arrays)[2], (*arrays)[3]);
    });
  };
  return {.ours = run(with), .peer = run(without)};
}

void add_loops(const char* name, std::int64_t size, int repeats) {
  add({.name = name,
       .peer = "without blocks",
       .bar = at_least<980>(),
       .prepare = [=] { return loops(size, repeats); },
       .samples = 21});
}

}  // namespace

void add_concurrency_cases() {
  add_gain();
  add_full_device();
  add_loops("loops_of_8_Mi_elements_in_blocks", std::int64_t{8} << 20, 10);
  add_loops("loops_of_256_elements_in_blocks", 256, 50);
}

}  // namespace weir::bench::gpu
