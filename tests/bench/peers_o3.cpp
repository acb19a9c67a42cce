// SPDX-License-Identifier: Apache-2.0
#include "peer_nbody.hpp"
#include "peers.hpp"

namespace weir::bench::peer {

void triad(float* __restrict a, const float* __restrict b, const float* __restrict c, float scale, std::size_t n) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + scale * c[i];
}

void stencil(float* __restrict out, const float* __restrict in, std::size_t rows, std::size_t cols) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 1; i < rows - 1; ++i) {
#pragma omp simd
    for (std::size_t j = 1; j < cols - 1; ++j) {
      const std::size_t k = i * cols + j;
      out[k] = 0.2f * (in[k] + in[k - 1] + in[k + 1] + in[k - cols] + in[k + cols]);
    }
  }
}

void nbody(float* ax, float* ay, float* az, const float* x, const float* y, const float* z, const float* mass,
           std::size_t n, float softening) {
  nbody_loop(ax, ay, az, x, y, z, mass, n, softening);
}

}  // namespace weir::bench::peer
