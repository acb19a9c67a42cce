// SPDX-License-Identifier: Apache-2.0
// Strided views: heat in a plate by implicit steps along the rows and then along the columns. One kernel
// solves the lines of a view. It takes the plate for its rows, the permuted view for its columns, and slices
// for a part.
#include <cmath>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

namespace {

constexpr std::int64_t rows = 96, columns = 160, steps = 20, coarse = 8;
constexpr float ratio = 2.0f;  // time step times conductivity over the square of the distance

/// What the elimination of a line needs of the elements before each one, the same for all lines.
std::vector<float> elimination(std::int64_t n) {
  std::vector<float> factor(n);
  for (std::int64_t i = 1; i + 1 < n; ++i) factor[i] = ratio / (1 + 2 * ratio - ratio * factor[i - 1]);
  return factor;
}

/// The same as the kernel, along a line of the host's plate.
void solve_line(double* x, std::int64_t n, std::int64_t stride) {
  std::vector<double> factor(n);
  for (std::int64_t i = 1; i + 1 < n; ++i) {
    factor[i] = ratio / (1 + 2 * ratio - ratio * factor[i - 1]);
    x[i * stride] = (x[i * stride] / ratio + x[(i - 1) * stride]) * factor[i];
  }
  for (std::int64_t i = n - 2; i > 0; --i) x[i * stride] += factor[i] * x[(i + 1) * stride];
}

}  // namespace

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  // An implicit step along the last dimension: x[i] - ratio * (x[i - 1] - 2 x[i] + x[i + 1]) becomes the old
  // x[i]. The ends of each line are kept. Nothing here tells whether the view is strided.
  Kernel diffuse{"diffuse", [](View<float, 2> x, View<const float> factor) {
                   range_for(x.extent(0), [&](Index line) {
                     const Index n = x.extent(1);
                     for_(1, n - 1,
                          [&](Index i) { x(line, i) = (x(line, i) / ratio + x(line, i - 1)) * factor[i]; });
                     for_(1, n - 1, [&](Index k) {
                       const Index i = n - 1 - k;
                       x(line, i) += factor[i] * x(line, i + 1);
                     });
                   });
                 }};

  const auto plate = device.array<float>(rows, columns);
  const auto along_rows = device.array_of<float>(elimination(columns));
  const auto along_columns = device.array_of<float>(elimination(rows));
  const ArrayView<float, 2> turned = plate.permuted({1, 0});  // element (i, j) is (j, i) of the plate

  // The left and the right edge are two columns with 158 others between them: every 159th column.
  plate.fill(0.0f);
  const ArrayView<float, 2> edges = plate.slice(1, 0, columns, columns - 1);
  std::vector<float> temperature(2 * rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    temperature[2 * i] = 100;                          // left
    temperature[2 * i + 1] = float(i) * 50.0f / rows;  // right
  }
  edges.copy_from(temperature);

  // The first and the last row, and the first and the last column, keep their temperature.
  const ArrayView<float, 2> inner_rows = plate.slice(1, rows - 1);
  const ArrayView<float, 2> inner_columns = turned.slice(1, columns - 1);
  for (int s = 0; s < steps; ++s) {
    diffuse(stream, inner_rows, along_rows);
    diffuse(stream, inner_columns, along_columns);
  }

  // A coarse picture of the plate, and a column in memory of its own.
  const std::vector<float> picture = plate.slice(0, 0, rows, coarse).slice(1, 0, columns, coarse).to_host();
  const auto profile = device.array<float>(rows, 1);
  profile.copy_from(plate.slice(1, columns / 2, columns / 2 + 1));

  std::vector<double> expected(rows * columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    expected[i * columns] = temperature[2 * i];
    expected[(i + 1) * columns - 1] = temperature[2 * i + 1];
  }
  for (int s = 0; s < steps; ++s) {
    for (std::int64_t i = 1; i < rows - 1; ++i) solve_line(&expected[i * columns], columns, 1);
    for (std::int64_t j = 1; j < columns - 1; ++j) solve_line(&expected[j], rows, columns);
  }
  const auto differs = [&](const char* what, std::int64_t i, std::int64_t j, float found) {
    const double right = expected[i * columns + j];
    if (std::abs(found - right) < 1e-3) return false;
    std::printf("%s has %g at (%lld, %lld), expected %g\n", what, found, (long long)i, (long long)j, right);
    return true;
  };
  for (std::size_t k = 0; k < picture.size(); ++k) {
    const std::int64_t width = columns / coarse, at = std::int64_t(k);
    if (differs("the picture", at / width * coarse, at % width * coarse, picture[k])) return 1;
  }
  const std::vector<float> column = profile.to_host();
  for (std::int64_t i = 0; i < rows; ++i)
    if (differs("the profile", i, columns / 2, column[i])) return 1;
  std::printf("%zu elements of the picture are right; the plate has %.2f degrees beside its left edge\n",
              picture.size(), double{picture[columns / coarse * (rows / coarse / 2) + 1]});
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
