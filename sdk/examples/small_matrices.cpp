// SPDX-License-Identifier: Apache-2.0
// A batch of 3 x 3 systems, one per iteration: matrices as array elements, linear algebra, and an assertion
// on the device.
#include <cmath>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;
using Mat3 = Mat<double, 3, 3>;
using Vec3 = Vec<double, 3>;

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  Kernel solver{"solve", [](View<const Mat3> a, View<const Vec3> b, View<Vec3> x) {
                  range_for(x.size(), [&](Index i) {
                    const auto f = lu(a[i]);
                    // A failed assert ends the iteration. A later call on the stream throws with this text
                    // and line.
                    assert_(!f.singular, "the matrix is singular");
                    x[i] = solve(f, b[i]);
                  });
                }};

  constexpr int n = 10'000;
  std::vector<Mat3> a(n);
  std::vector<Vec3> b(n), expected(n);
  for (int i = 0; i < n; ++i) {
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) a[i](r, c) = (r == c ? 4.0 : 0.0) + std::sin(i + 3.0 * r + c);
      expected[i][r] = r - 1.0 + i % 7;
    }
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) b[i][r] += a[i](r, c) * expected[i][c];
    }
  }
  auto matrices = device.array_of<Mat3>(a);
  auto right = device.array_of<Vec3>(b);
  auto x = device.array<Vec3>(n);
  solver(stream, matrices, right, x);

  const std::vector<Vec3> found = x.to_host();
  for (int i = 0; i < n; ++i) {
    for (int r = 0; r < 3; ++r) {
      if (std::abs(found[i][r] - expected[i][r]) > 1e-12 * (1 + std::abs(expected[i][r])) * 100) {
        std::fprintf(stderr, "small_matrices: x[%d][%d] is %.17g, expected %g\n", i, r, found[i][r],
                     expected[i][r]);
        return 1;
      }
    }
  }

  // The same functions work on the host, with the same bits where the compiler does not contract to fma.
  Kernel stretches{"stretches", [](View<const Mat3> a, View<Mat3> stretch) {
                     range_for(stretch.size(), [&](Index i) { stretch[i] = polar(a[i]).stretch; });
                   }};
  auto stretch = device.array<Mat3>(n);
  stretches(stream, matrices, stretch);
  const Mat3 on_device = stretch.to_host()[17], on_host = polar(a[17]).stretch;
  for (int e = 0; e < 9; ++e) {
    if (std::abs(on_device.data[e] - on_host.data[e]) > 1e-14) {
      std::fprintf(stderr, "small_matrices: the stretch is %.17g, expected %.17g\n", on_device.data[e],
                   on_host.data[e]);
      return 1;
    }
  }

  // The next call that names the stream throws errors of the device; here it is the wait.
  matrices.slice(17, 18).fill(Mat3{});
  solver(stream, matrices, right, x);
  try {
    stream.synchronize();
    std::fprintf(stderr, "small_matrices: the singular matrix was not reported\n");
    return 1;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::assertion || error.kernel() != "solve") throw;
    std::printf("small_matrices: %d systems are correct; as expected, the next launch failed:\n  %s\n", n,
                error.what());
  }
  stream.synchronize();  // a failed assert is reported once; the stream stays usable
} catch (const Error& error) {
  std::fprintf(stderr, "small_matrices: %s\n", error.what());
  return 1;
}
