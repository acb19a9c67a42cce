// SPDX-License-Identifier: Apache-2.0
// Decompositions of small tensors, one per iteration: gradients by least squares, velocities under a
// constraint, principal stresses, stretches, and vehicles that turn towards a heading.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;
using Vec3 = Vec<double, 3>;
using Float3 = Vec<float, 3>;
using Mat3 = Mat<double, 3, 3>;
using Samples = Vec<double, 6>;
using Offsets = Mat<double, 6, 3>;

namespace {

constexpr int n = 5000;

/// Elements whose components are between -1 and 1.
template <class T>
std::vector<T> random_elements() {
  static std::uint32_t state = 1;
  std::vector<T> elements(n);
  for (T& element : elements)
    for (auto& x : element.data)
      state = state * 1664525u + 1013904223u, x = double(state >> 8) / 8388608.0 - 1.0;
  return elements;
}

}  // namespace

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  // The gradient of a field from six neighbours: the x with the least |offsets * x - samples|.
  Kernel fit{"fit", [](View<const Offsets> offsets, View<const Samples> samples, View<Vec3> gradient) {
               range_for(gradient.size(), [&](Index i) {
                 const auto f = qr(offsets[i]);
                 assert_(f.full_rank, "the neighbours do not span the space");
                 gradient[i] = solve(f, samples[i]);
               });
             }};

  // The velocity next to v, in the norm of the masses, that has no component along the normal a. The matrix
  // is not positive definite, so cholesky does not factorise it.
  Kernel project{"project", [](View<const Vec3> mass, View<const Vec3> normal, View<Vec3> velocity) {
                   range_for(velocity.size(), [&](Index i) {
                     const Value m = mass[i], a = normal[i], v = velocity[i];
                     const auto f = ldl(mat<4, 4>(m[0], 0.0, 0.0, a[0],  //
                                                  0.0, m[1], 0.0, a[1],  //
                                                  0.0, 0.0, m[2], a[2],  //
                                                  a[0], a[1], a[2], 0.0));
                     assert_(!f.singular, "the normal is zero");
                     const auto x = solve(f, vec(m[0] * v[0], m[1] * v[1], m[2] * v[2], 0.0));
                     velocity[i] = vec(x[0], x[1], x[2]);  // x[3] is the force of the constraint
                   });
                 }};

  // Principal values of a tensor and their directions, and its stretches between two rotations.
  Kernel principal{"principal", [](View<const Mat3> tensor, View<Vec3> values, View<Mat3> directions,
                                   View<Mat3> u, View<Vec3> stretches, View<Mat3> v) {
                     range_for(tensor.size(), [&](Index i) {
                       const auto e = eigen_symmetric(tensor[i]);  // reads the lower triangle
                       values[i] = e.values, directions[i] = e.vectors;
                       const auto s = svd(tensor[i]);
                       u[i] = s.u, stretches[i] = s.values, v[i] = s.v;
                     });
                   }};

  // Where a vehicle points a quarter of the way from one attitude to another, both about the vertical axis.
  // In floats, because the sines of doubles are much longer code.
  Kernel turn{"turn", [](View<const Float3> angles, View<Float3> nose) {
                range_for(nose.size(), [&](Index i) {
                  const Float3 up{0, 0, 1};
                  const auto from = quaternion_from_axis_angle(up, angles[i][0]);
                  const auto to = quaternion_product(quaternion_from_axis_angle(up, angles[i][1]), from);
                  nose[i] = quaternion_rotate(quaternion_slerp(from, to, 0.25f), Float3{1, 0, 0});
                });
              }};

  const auto angles = random_elements<Float3>();
  const auto offsets = random_elements<Offsets>();
  const auto samples = random_elements<Samples>();
  const auto tensors = random_elements<Mat3>();
  auto normals = random_elements<Vec3>(), vectors = random_elements<Vec3>(), masses = random_elements<Vec3>();
  for (Vec3& mass : masses) mass = {mass[0] + 2, mass[1] + 2, mass[2] + 2};
  const auto normal = device.array_of<Vec3>(normals), gradient = device.array<Vec3>(n);
  const auto velocity = device.array_of<Vec3>(vectors), principals = device.array<Vec3>(n);
  const auto stretches = device.array<Vec3>(n);
  const auto nose = device.array<Float3>(n);
  const auto tensor = device.array_of<Mat3>(tensors), direction = device.array<Mat3>(n);
  const auto u = device.array<Mat3>(n), v = device.array<Mat3>(n);
  fit(stream, device.array_of<Offsets>(offsets), device.array_of<Samples>(samples), gradient);
  project(stream, device.array_of<Vec3>(masses), normal, velocity);
  principal(stream, tensor, principals, direction, u, stretches, v);
  turn(stream, device.array_of<Float3>(angles), nose);

  const std::vector<Vec3> x = gradient.to_host(), w = velocity.to_host();
  const std::vector<Vec3> lambda = principals.to_host(), sigma = stretches.to_host();
  const std::vector<Float3> turned = nose.to_host();
  const std::vector<Mat3> e = direction.to_host(), left = u.to_host(), right = v.to_host();
  const char* wrong = nullptr;
  const auto expect_zero = [&](const char* what, double error, double limit = 1e-10) {
    if (!(std::abs(error) < limit)) wrong = what;  // also if it is NaN
  };
  for (int i = 0; i < n; ++i) {
    const Vec3 &a = normals[i], &before = vectors[i];
    const double angle = angles[i][0] + 0.25 * angles[i][1];
    expect_zero("turn", turned[i][0] - std::cos(angle), 1e-6);
    expect_zero("turn", turned[i][1] - std::sin(angle), 1e-6);
    expect_zero("project", a[0] * w[i][0] + a[1] * w[i][1] + a[2] * w[i][2]);
    for (int k = 0; k < 3; ++k) {
      const int l = (k + 1) % 3;  // the change of the momentum is along the normal
      expect_zero("project",
                  masses[i][k] * (w[i][k] - before[k]) * a[l] - masses[i][l] * (w[i][l] - before[l]) * a[k]);
      double slope = 0;  // of the sum of squares
      for (const Offsets& o = offsets[i]; int r : {0, 1, 2, 3, 4, 5})
        slope += o(r, k) * (o(r, 0) * x[i][0] + o(r, 1) * x[i][1] + o(r, 2) * x[i][2] - samples[i][r]);
      expect_zero("fit", slope);
      for (int j = 0; j < 3; ++j) {
        double residual = -lambda[i][j] * e[i](k, j), rest = -tensors[i](k, j);
        for (int m = 0; m < 3; ++m) {
          residual += tensors[i](std::max(k, m), std::min(k, m)) * e[i](m, j);
          rest += left[i](k, m) * sigma[i][m] * right[i](j, m);
        }
        expect_zero("eigen_symmetric", residual);
        expect_zero("svd", rest);
      }
    }
  }
  if (wrong) std::printf("the results of %s are wrong\n", wrong);
  std::printf("%d systems of each kind; the first stretches are %.3f, %.3f and %.3f\n", n, sigma[0][0],
              sigma[0][1], sigma[0][2]);
  return wrong ? 1 : 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
