// SPDX-License-Identifier: Apache-2.0
#include <cmath>

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

void nbody(float* __restrict ax, float* __restrict ay, float* __restrict az, const float* __restrict x,
           const float* __restrict y, const float* __restrict z, const float* __restrict mass, std::size_t n,
           float softening) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < n; ++i) {
    float sx = 0, sy = 0, sz = 0;
#pragma omp simd reduction(+ : sx, sy, sz)
    for (std::size_t j = 0; j < n; ++j) {
      const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
      const float r2 = dx * dx + dy * dy + dz * dz + softening;
      const float f = mass[j] / (r2 * std::sqrt(r2));
      sx += f * dx;
      sy += f * dy;
      sz += f * dz;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
  }
}

}  // namespace weir::bench::peer
