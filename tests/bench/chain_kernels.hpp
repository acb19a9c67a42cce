// SPDX-License-Identifier: Apache-2.0
// Kernels of chains of small loops, for the CPU's and the GPU's cases.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

#include "../../sdk/examples/robots.hpp"

namespace weir::bench {

/// Each loop is a task.
inline KernelOptions loops_apart() {
  return {.fusion = false, .phases = false, .concurrency = false};
}

/// Two loops, each of which needs all of the one before.
template <class X, class Y>
void reverse_twice(const X& x, const Y& y) {
  range_for(x.size(), [&](Index i) { y[i] = x[x.size() - 1 - i] * 1.5f; });
  range_for(x.size(), [&](Index i) { x[i] = y[x.size() - 1 - i] * 0.5f + 1.0f; });
}

inline void five_loops(View<float> x, View<float> y) {
  reverse_twice(x, y);
  reverse_twice(x, y);
  range_for(x.size(), [&](Index i) { y[i] = x[x.size() - 1 - i]; });
}

inline constexpr auto hundred_loops = [](View<float> x, View<float> y) {
  for (int k = 0; k < 50; ++k) reverse_twice(x, y);
};

/// Four groups of five loops that do not depend on each other, without and with stream blocks.
inline constexpr auto independent_groups = [](View<float> a, View<float> b, View<float> c, View<float> d,
                                              View<float> e, View<float> f, View<float> g, View<float> h) {
  five_loops(a, b);
  five_loops(c, d);
  five_loops(e, f);
  five_loops(g, h);
};
inline constexpr auto groups_in_blocks = [](View<float> a, View<float> b, View<float> c, View<float> d,
                                            View<float> e, View<float> f, View<float> g, View<float> h) {
  stream_parallel([&] { five_loops(a, b); });
  stream_parallel([&] { five_loops(c, d); });
  stream_parallel([&] { five_loops(e, f); });
  stream_parallel([&] { five_loops(g, h); });
};

/// Seconds from a kernel of 31 loops to the end of its first launch: the robots' step, and eleven loops each
/// of which needs all of the one before. A number that no earlier kernel had keeps the code out of every
/// cache.
inline double seconds_to_compile(const Device& device, const KernelOptions& options) {
  using Clock = std::chrono::steady_clock;
  static std::int64_t salt = Clock::now().time_since_epoch().count();
  const robots::Robots some(device, 1024);
  const auto spare = device.array<float>(1024);
  const Stream stream = device.create_stream();
  device.synchronize();
  const auto begin = Clock::now();
  const auto arrays = some.arguments();
  return std::apply(
      [&]<class... A>(const A&... array) {
        const Kernel kernel{
            "loops_31",
            with_constants([number = ++salt](
                               View<float, 2> angle, View<float, 2> speed, View<float> height,
                               View<float> rise, View<const float, 2> torque, View<const float, 2> rest,
                               View<const float, 2> lever, View<const float, 2> inertia, View<float, 2> force,
                               View<float, 3> foot, View<float, 2> depth, View<float, 3> push,
                               View<float, 3> mass, View<float, 3> lower, View<float, 2> half_solved,
                               View<float, 2> acceleration, View<float> energy, View<float> spare) {
              robots::step(angle, speed, height, rise, torque, rest, lever, inertia, force, foot, depth, push,
                           mass, lower, half_solved, acceleration, energy);
              five_loops(energy, spare);
              five_loops(energy, spare);
              range_for(spare.size(), [&](Index i) {
                spare[i] = select(cast<std::int64_t>(energy[spare.size() - 1 - i]) == number, 0.0f, spare[i]);
              });
            }),
            options};
        kernel(stream, array..., spare);
        stream.synchronize();
        return std::chrono::duration<double>(Clock::now() - begin).count();
      },
      arrays);
}

}  // namespace weir::bench
