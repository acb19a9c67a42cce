// SPDX-License-Identifier: Apache-2.0
// Memory-bound kernels on 3 GiB of random data: copy, triad, dot, sum.
#include "against_twin.hpp"
#include "kernels.hpp"

namespace weir::bench::gpu {
namespace {

/// 3 GiB of random numbers, shared by several cases.
const ArrayView<float>& three_gibibytes() {
  static const Array<float> all = [] {
    Array<float> array = device().array<float>(3 * gibibyte_of_floats);
    fill_random(array);
    return array;
  }();
  return all;
}

void add_copy() {
  add({.name = "copy_3_GiB",
       .peer = "nvcc -O3",
       .bar = at_least<990>(),
       .prepare =
           [] {
             static const Kernel copy{"copy", [](View<float> a, View<const float> b) {
                                        range_for(a.size(), [&](Index i) { a[i] = b[i]; });
                                      }};
             const std::int64_t n = gibibyte_of_floats * 3 / 2;
             const ArrayView<float> a = three_gibibytes().slice(0, n), b = three_gibibytes().slice(n, 2 * n);
             return sides(
                 10, [=](const Stream& s) { copy(s, a, b); },
                 [=, to = a.device_address(), from = b.device_address()](int v, CUstream s) {
                   return twin().copy(v, to, from, n, s);
                 },
                 [=] { expect_equal(a, b, 0, "copy"); });
           },
       .samples = 21});
}

Sides triad_sides() {
  const std::int64_t n = gibibyte_of_floats;
  const ArrayView<float> a = three_gibibytes().slice(0, n), b = three_gibibytes().slice(n, 2 * n),
                         c = three_gibibytes().slice(2 * n, 3 * n);
  return sides(
      10, [=](const Stream& s) { triad()(s, a, b, c, 3.0f); },
      [=, x = a.device_address(), y = b.device_address(), z = c.device_address()](int v, CUstream s) {
        return twin().triad(v, x, y, z, 3.0f, n, s);
      },
      [=] {
        device().synchronize();
        for (const std::int64_t i : {std::int64_t{0}, n / 3, n - 1})
          expect_close(at(a, i), at(b, i) + 3.0f * at(c, i), 1e-6, "triad");
      });
}

void add_triad() {
  add({.name = "triad_3_GiB",
       .peer = "nvcc -O3",
       .bar = at_least<990>(),
       .prepare = triad_sides,
       .samples = 21});
  add({.name = "triad_3_GiB_terabytes_per_second",
       .peer = "nvcc -O3",
       .bar = {"at least 3.6 TB/s", [](double ours, double) { return 3.0 * (1 << 30) / ours / 1e12; },
               [](double figure) { return figure >= 3.6; }},
       .prepare = triad_sides,
       .samples = 11});
}

template <class Ours, class Theirs>
Sides to_one_number(Ours ours, Theirs theirs, const char* what) {
  auto found = std::make_shared<Array<float>>(device().array<float>(1)),
       expected = std::make_shared<Array<float>>(device().array<float>(1));
  return sides(
      10, [=](const Stream& s) { ours(s, *found); },
      [=, to = expected->device_address()](int v, CUstream s) { return theirs(v, to, s); },
      [=] {
        device().synchronize(), expect_close(at<float>(*found, 0), at<float>(*expected, 0), 1e-3, what);
      });
}

void add_dot() {
  add({.name = "dot_3_GiB",
       .peer = "nvcc -O3",
       .bar = at_least<990>(),
       .prepare =
           [] {
             static const Kernel dot{"dot", [](View<float> r, View<const float> a, View<const float> b) {
                                       r[0] = reduce_sum(a.size(), [&](Index i) { return a[i] * b[i]; });
                                     }};
             const std::int64_t n = gibibyte_of_floats * 3 / 2;
             const ArrayView<float> a = three_gibibytes().slice(0, n), b = three_gibibytes().slice(n, 2 * n);
             return to_one_number(
                 [=](const Stream& s, const Array<float>& r) { dot(s, r, a, b); },
                 [=, x = a.device_address(), y = b.device_address()](int v, CUdeviceptr r, CUstream s) {
                   return twin().dot(v, r, x, y, n, s);
                 },
                 "dot");
           },
       .samples = 21});
}

void add_sum() {
  add({.name = "sum_1_GiB",
       .peer = "nvcc -O3",
       .bar = at_least<970>(),
       .prepare =
           [] {
             static const Kernel sum{"sum", [](View<float> r, View<const float> a) {
                                       r[0] = reduce_sum(a.size(), [&](Index i) { return a[i]; });
                                     }};
             const ArrayView<float> a = three_gibibytes().slice(0, gibibyte_of_floats);
             return to_one_number([=](const Stream& s, const Array<float>& r) { sum(s, r, a); },
                                  [=, x = a.device_address()](int v, CUdeviceptr r, CUstream s) {
                                    return twin().sum(v, r, x, gibibyte_of_floats, s);
                                  },
                                  "sum");
           },
       .samples = 21});
}

}  // namespace

void add_streaming_cases() {
  add_copy();
  add_triad();
  add_dot();
  add_sum();
}

}  // namespace weir::bench::gpu
