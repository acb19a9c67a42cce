// SPDX-License-Identifier: Apache-2.0
// A product of matrices by groups of threads. Each group computes a tile of the result. Its threads share
// tiles of the factors, so that an element of these is loaded once for each tile of the result instead of
// once for each of its elements.
#include <cmath>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  constexpr std::int64_t tile = 16, n = 12 * tile;  // the kernel takes multiples of a tile
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  Kernel product{
      "product", [](View<const float, 2> a, View<const float, 2> b, View<float, 2> c) {
        const Index rows = c.extent(0) / tile, columns = c.extent(1) / tile, steps = a.extent(1) / tile;
        group_for(groups(rows, columns), threads<tile, tile>, [&](Index y, Index x, Index i, Index j) {
          Shared<float, tile, tile> of_a, of_b;
          Var<float> sum;
          for_(0, steps, [&](Index k) {
            of_a(i, j) = a(y * tile + i, k * tile + j);
            of_b(i, j) = b(k * tile + i, x * tile + j);
            barrier();  // the tiles are complete
            for_(0, tile, [&](Index l) { sum = fma(of_a(i, l), of_b(l, j), sum); });
            barrier();  // the tiles may be overwritten
          });
          c(y * tile + i, x * tile + j) = sum;
        });
      }};

  std::vector<float> a(n * n), b(n * n);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = float(i % 7) - 3;
    b[i] = float(i % 5) - 2;
  }
  auto of_a = device.array<float>(n, n), of_b = device.array<float>(n, n), of_c = device.array<float>(n, n);
  of_a.copy_from(a);
  of_b.copy_from(b);
  product(stream, of_a, of_b, of_c);

  const std::vector<float> c = of_c.to_host(stream);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum = std::fma(a[i * n + k], b[k * n + j], sum);
      if (c[i * n + j] != sum) {
        std::printf("c(%zu, %zu) is %g instead of %g\n", i, j, c[i * n + j], sum);
        return 1;
      }
    }
  std::printf("%lld x %lld elements, each the sum of %lld products\n", (long long)n, (long long)n,
              (long long)n);
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
