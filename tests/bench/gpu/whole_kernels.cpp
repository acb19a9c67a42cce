// SPDX-License-Identifier: Apache-2.0
// Other kernels: a stencil, all pairs of bodies, small systems of equations, counting.
#include <deque>

#include "against_twin.hpp"
#include "kernels.hpp"

namespace weir::bench::gpu {
namespace {

void add_stencil() {
  add({.name = "stencil_5_point_16384x16384",
       .peer = "nvcc -O3",
       .bar = at_least<970>(),
       .prepare =
           [] {
             constexpr int n = 16384;
             struct State {
               Array<float, 2> in = device().array<float>(n, n), ours = device().array<float>(n, n),
                               theirs = device().array<float>(n, n);
             };
             auto state = std::make_shared<State>();
             fill_random(state->in.flat());
             state->ours.fill(0.0f), state->theirs.fill(0.0f);
             return sides(
                 10, [=](const Stream& s) { stencil()(s, state->ours, state->in); },
                 [=, out = state->theirs.device_address(), in = state->in.device_address()](
                     int v, CUstream s) { return twin().stencil(v, out, in, n, n, s); },
                 [=] { expect_equal(state->ours.flat(), state->theirs.flat(), 1e-6, "stencil"); });
           },
       .samples = 21});
}

struct Bodies {
  static constexpr int n = 1 << 16;
  Array<Body> start = device().array<Body>(n), ours = device().array<Body>(n),
              theirs = device().array<Body>(n);
};

Sides nbody_sides() {
  constexpr int n = Bodies::n;
  auto state = std::make_shared<Bodies>();
  state->start.copy_from(device().default_stream(), start_of_bodies(n));
  return sides(
      2, [=](const Stream& s) { nbody()(s, state->ours, state->start, 1e-3f); },
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

void add_nbody() {
  add({.name = "nbody_65536_fast",
       .peer = "nvcc -O3",
       .bar = at_least<970>(),
       .prepare = nbody_sides,
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
                   histogram()(s, state->ours, state->keys, bins - 1);
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
                   expect_equal_counts(state->ours, state->our_runs, state->theirs, state->their_runs);
                 });
           },
       .samples = 21});
}

// As product_kernel of twin.cu.
using ProductKernel = Kernel<void(View<const float, 2>, View<const float, 2>, View<float, 2>)>;

const ProductKernel& product() {
  constexpr std::int64_t tile = 64, depth = 16, each = 4;
  static const ProductKernel kernel{
      "product", [](View<const float, 2> a, View<const float, 2> b, View<float, 2> c) {
        group_for(groups(c.extent(0) / tile, c.extent(1) / tile), threads<16, 16>,
                  [&](Index gi, Index gj, Index ti, Index tj) {
                    Shared<float, depth, tile> tile_a, tile_b;
                    const Index row = gi * tile, column = gj * tile, thread = ti * 16 + tj;
                    std::deque<Var<float>> sum;
                    for (std::int64_t k = 0; k < each * each; ++k) sum.emplace_back(0.0f);
                    for_(0, a.extent(1), depth, [&](Index k0) {
                      for (std::int64_t r = 0; r < 4; ++r) {
                        const Index e = thread + 256 * r;
                        tile_a(e % 16, e / 16) = a(row + e / 16, k0 + e % 16);
                        tile_b(e / 64, e % 64) = b(k0 + e / 64, column + e % 64);
                      }
                      barrier();
                      for (std::int64_t k = 0; k < depth; ++k)
                        for (std::int64_t u = 0; u < each; ++u)
                          for (std::int64_t v = 0; v < each; ++v) {
                            Var<float>& own = sum[std::size_t(u * each + v)];
                            own = fma(tile_a(k, ti * 4 + u), tile_b(k, tj * 4 + v), own);
                          }
                      barrier();
                    });
                    for (std::int64_t u = 0; u < each; ++u)
                      for (std::int64_t v = 0; v < each; ++v)
                        c(row + ti * 4 + u, column + tj * 4 + v) = sum[std::size_t(u * each + v)];
                  });
      }};
  return kernel;
}

void add_product() {
  add({.name = "matrix_product_by_groups_4096",
       .peer = "nvcc -O3",
       .bar = at_least<950>(),
       .prepare =
           [] {
             constexpr int n = 4096;
             struct State {
               Array<float, 2> a = device().array<float>(n, n), b = device().array<float>(n, n),
                               ours = device().array<float>(n, n), theirs = device().array<float>(n, n);
             };
             auto state = std::make_shared<State>();
             fill_random(state->a.flat());
             fill_random(state->b.flat());
             return sides(
                 2, [=](const Stream& s) { product()(s, state->a, state->b, state->ours); },
                 [=, c = state->theirs.device_address(), a = state->a.device_address(),
                  b = state->b.device_address()](int v, CUstream s) {
                   return twin().product(v, c, a, b, n, s);
                 },
                 [=] { expect_equal(state->ours.flat(), state->theirs.flat(), 1e-6, "product"); });
           },
       .samples = 11});
}

}  // namespace

void add_kernel_cases() {
  add_stencil();
  add_nbody();
  add_solve();
  add_product();
  add_counting("histogram_256_bins", 256);
  add_counting("histogram_1_Mi_bins", 1 << 20);
}

}  // namespace weir::bench::gpu
