// SPDX-License-Identifier: Apache-2.0
// Kernels that are compared with nvcc's and between drivers, and the data that they begin with.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

#include "comparison.hpp"

namespace weir::bench::gpu {

inline const auto& triad() {
  static const Kernel kernel{"triad",
                             [](View<float> a, View<const float> b, View<const float> c, Value<float> s) {
                               range_for(a.size(), [&](Index i) { a[i] = b[i] + s * c[i]; });
                             }};
  return kernel;
}

inline const auto& stencil() {
  static const Kernel kernel{
      "stencil", [](View<float, 2> out, View<const float, 2> in) {
        range_for(range(1, in.extent(0) - 1), range(1, in.extent(1) - 1), [&](Index i, Index j) {
          out(i, j) = 0.2f * (in(i, j) + in(i, j - 1) + in(i, j + 1) + in(i - 1, j) + in(i + 1, j));
        });
      }};
  return kernel;
}

using Body = Vec<float, 4>;  // position and mass; acceleration

/// Accelerations of all bodies by all bodies, with fast math.
inline const auto& nbody() {
  static const Kernel kernel{"nbody",
                             [](View<Body> out, View<const Body> bodies, Value<float> softening) {
                               range_for(bodies.size(), [&](Index i) {
                                 Value<Body> me = bodies[i];
                                 Var<float> x = 0.0f, y = 0.0f, z = 0.0f;
                                 for_(0, bodies.size(), [&](Index j) {
                                   Value<Body> other = bodies[j];
                                   Value<float> dx = other[0] - me[0], dy = other[1] - me[1],
                                                dz = other[2] - me[2];
                                   Value<float> inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
                                   Value<float> force = other[3] * inverse * inverse * inverse;
                                   x += force * dx;
                                   y += force * dy;
                                   z += force * dz;
                                 });
                                 out[i][0] = x;
                                 out[i][1] = y;
                                 out[i][2] = z;
                                 out[i][3] = 0.0f;
                               });
                             },
                             KernelOptions{.fast_math = true}};
  return kernel;
}

inline std::vector<Body> start_of_bodies(int n) {
  std::vector<Body> start(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    const float t = static_cast<float>(i);
    start[static_cast<std::size_t>(i)] = {std::sin(12.9f * t), std::sin(78.2f * t), std::sin(37.7f * t),
                                          0.5f + std::abs(std::sin(t))};
  }
  return start;
}

/// Adds the number of each key to its bin; `mask` is the number of bins, a power of two, less 1.
inline const auto& histogram() {
  static const Kernel kernel{
      "histogram", [](View<std::uint32_t> h, View<const std::uint32_t> keys, Value<std::uint32_t> mask) {
        range_for(keys.size(), [&](Index i) { atomic_add(h[cast<std::int64_t>(keys[i] & mask)], 1u); });
      }};
  return kernel;
}

/// Compares a sample of bins after different numbers of runs. Counts wrap around at 2^32.
inline void expect_equal_counts(const ArrayView<std::uint32_t>& ours, std::uint64_t our_runs,
                                const ArrayView<std::uint32_t>& theirs, std::uint64_t their_runs) {
  const std::int64_t bins = ours.extent(0);
  for (std::int64_t bin = 0; bin < bins; bin += bins / 16) {
    const auto a = static_cast<std::uint32_t>(at(ours, bin) * their_runs);
    const auto b = static_cast<std::uint32_t>(at(theirs, bin) * our_runs);
    if (a != b) throw std::runtime_error("histogram: the counts of bin " + std::to_string(bin) + " differ");
  }
}

}  // namespace weir::bench::gpu
