// SPDX-License-Identifier: Apache-2.0
// Other kernels: a stencil, all pairs of bodies, small systems of equations, counting.
#include <vector>

#include "against_twin.hpp"

namespace weir::bench::gpu {
namespace {

void add_stencil() {
  add({.name = "stencil_5_point_16384x16384",
       .peer = "nvcc -O3",
       .bar = at_least<970>(),
       .prepare =
           [] {
             static const Kernel stencil{
                 "stencil", [](View<float, 2> out, View<const float, 2> in) {
                   range_for(range(1, in.extent(0) - 1), range(1, in.extent(1) - 1), [&](Index i, Index j) {
                     out(i, j) =
                         0.2f * (in(i, j) + in(i, j - 1) + in(i, j + 1) + in(i - 1, j) + in(i + 1, j));
                   });
                 }};
             constexpr int n = 16384;
             struct State {
               Array<float, 2> in = device().array<float>(n, n), ours = device().array<float>(n, n),
                               theirs = device().array<float>(n, n);
             };
             auto state = std::make_shared<State>();
             fill_random(state->in.flat());
             state->ours.fill(0.0f), state->theirs.fill(0.0f);
             return sides(
                 10, [=](const Stream& s) { stencil(s, state->ours, state->in); },
                 [=, out = state->theirs.device_address(), in = state->in.device_address()](
                     int v, CUstream s) { return twin().stencil(v, out, in, n, n, s); },
                 [=] { expect_equal(state->ours.flat(), state->theirs.flat(), 1e-6, "stencil"); });
           },
       .samples = 21});
}

using Body = Vec<float, 4>;  // position and mass; acceleration

struct Bodies {
  static constexpr int n = 1 << 16;
  Array<Body> start = device().array<Body>(n), ours = device().array<Body>(n),
              theirs = device().array<Body>(n);
};

template <class K>
Sides nbody_sides(const K& kernel) {
  constexpr int n = Bodies::n;
  auto state = std::make_shared<Bodies>();
  std::vector<Body> start(n);
  for (int i = 0; i < n; ++i) {
    const float t = static_cast<float>(i);
    start[static_cast<std::size_t>(i)] = {std::sin(12.9f * t), std::sin(78.2f * t), std::sin(37.7f * t),
                                          0.5f + std::abs(std::sin(t))};
  }
  state->start.copy_from(device().default_stream(), start);
  return sides(
      2, [=, &kernel](const Stream& s) { kernel(s, state->ours, state->start, 1e-3f); },
      [=, out = state->theirs.device_address(), in = state->start.device_address()](int v, CUstream s) {
        return twin().nbody(v, out, in, n, 1e-3f, s);
      },
      [=] {
        device().synchronize();
        for (std::int64_t i : {0, 1000, n - 1})
          for (std::size_t c = 0; c < 3; ++c)
            expect_close(at<Body>(state->ours, i)[c], at<Body>(state->theirs, i)[c], 1e-2, "nbody");
      });
}

void pull_of_all(View<Body> out, View<const Body> bodies, Value<float> softening) {
  range_for(bodies.size(), [&](Index i) {
    Value<Body> me = bodies[i];
    Var<float> x = 0.0f, y = 0.0f, z = 0.0f;
    for_(0, bodies.size(), [&](Index j) {
      Value<Body> other = bodies[j];
      Value<float> dx = other[0] - me[0], dy = other[1] - me[1], dz = other[2] - me[2];
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
}

void add_nbody() {
  add({.name = "nbody_65536_fast",
       .peer = "nvcc -O3",
       .bar = at_least<970>(),
       .prepare =
           [] {
             static const Kernel kernel{"nbody", &pull_of_all, KernelOptions{.fast_math = true}};
             return nbody_sides(kernel);
           },
       .samples = 11});
}

void add_solve() {
  using Mat3 = Mat<float, 3, 3>;
  using Vec3 = Vec<float, 3>;
  add({.name = "solve_16_Mi_systems_3x3_fast",
       .peer = "nvcc -O3",
       .bar = at_least<970>(),
       .prepare =
           [] {
             static const Kernel solve{"solve",
                                       [](View<Vec3> x, View<const Mat3> a, View<const Vec3> b) {
                                         range_for(x.size(), [&](Index i) { x[i] = inverse(a[i]) * b[i]; });
                                       },
                                       {.fast_math = true}};
             static const Kernel make{"make", [](View<Mat3> a, View<Vec3> b) {
                                        range_for(a.size(), [&](Index i) {
                                          for (std::size_t r = 0; r < 3; ++r) {
                                            for (std::size_t c = 0; c < 3; ++c)
                                              a[i](r, c) = random<float>() + (r == c ? 3.0f : 0.0f);
                                            b[i][r] = random<float>();
                                          }
                                        });
                                      }};
             constexpr std::int64_t n = std::int64_t{1} << 24;
             struct State {
               Array<Mat3> a = device().array<Mat3>(n);
               Array<Vec3> b = device().array<Vec3>(n), ours = device().array<Vec3>(n),
                           theirs = device().array<Vec3>(n);
             };
             auto state = std::make_shared<State>();
             make(device().default_stream(), state->a, state->b);
             return sides(
                 10, [=](const Stream& s) { solve(s, state->ours, state->a, state->b); },
                 [=, x = state->theirs.device_address(), a = state->a.device_address(),
                  b = state->b.device_address()](int v, CUstream s) {
                   return twin().solve(v, x, a, b, n, s);
                 },
                 [=] {
                   device().synchronize();
                   for (std::int64_t i = 0; i < 32; ++i)
                     for (std::size_t c = 0; c < 3; ++c)
                       expect_close(at<Vec3>(state->ours, i * 500'009)[c],
                                    at<Vec3>(state->theirs, i * 500'009)[c], 1e-4, "solve");
                 });
           },
       .samples = 21});
}

void add_counting(const char* name, unsigned bins) {
  add({.name = name,
       .peer = "nvcc -O3",
       .bar = at_least<970>(),
       .prepare =
           [=] {
             static const Kernel count{"histogram", [](View<std::uint32_t> h, View<const std::uint32_t> keys,
                                                       Value<std::uint32_t> mask) {
                                         range_for(keys.size(), [&](Index i) {
                                           atomic_add(h[cast<std::int64_t>(keys[i] & mask)], 1u);
                                         });
                                       }};
             static const Kernel draw{"keys", [](View<std::uint32_t> x) {
                                        range_for(x.size(), [&](Index i) { x[i] = random<std::uint32_t>(); });
                                      }};
             constexpr std::int64_t n = std::int64_t{1} << 27;
             struct State {
               Array<std::uint32_t> keys = device().array<std::uint32_t>(n), ours, theirs;
               std::uint64_t our_runs = 0, their_runs = 0;
             };
             auto state = std::make_shared<State>();
             state->ours = device().array<std::uint32_t>(bins),
             state->theirs = device().array<std::uint32_t>(bins);
             draw(device().default_stream(), state->keys);
             state->ours.fill(0u), state->theirs.fill(0u);
             return sides(
                 5,
                 [=](const Stream& s) {
                   count(s, state->ours, state->keys, bins - 1);
                   ++state->our_runs;
                 },
                 [=, to = state->theirs.device_address(), from = state->keys.device_address()](int v,
                                                                                               CUstream s) {
                   const int result = twin().histogram(v, to, from, n, bins, s);
                   if (result == 0) ++state->their_runs;
                   return result;
                 },
                 [=] {
                   device().synchronize();
                   for (std::uint32_t i = 0; i < 16; ++i) {
                     const std::int64_t bin = i * (bins / 16);
                     // Counts wrap around at 2^32, and the two sides ran different numbers of times.
                     const auto ours =
                         static_cast<std::uint32_t>(at<std::uint32_t>(state->ours, bin) * state->their_runs);
                     const auto theirs =
                         static_cast<std::uint32_t>(at<std::uint32_t>(state->theirs, bin) * state->our_runs);
                     if (ours != theirs)
                       throw std::runtime_error("histogram: the counts of bin " + std::to_string(bin) +
                                                " differ");
                   }
                 });
           },
       .samples = 21});
}

}  // namespace

void add_kernel_cases() {
  add_stencil();
  add_nbody();
  add_solve();
  add_counting("histogram_256_bins", 256);
  add_counting("histogram_1_Mi_bins", 1 << 20);
}

}  // namespace weir::bench::gpu
