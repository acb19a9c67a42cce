// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "peers.hpp"

namespace weir::bench::peer {

void map_sin(float* __restrict out, const float* __restrict in, std::size_t n) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < n; ++i) out[i] = std::sin(in[i]);
}

void map_exp(float* __restrict out, const float* __restrict in, std::size_t n) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < n; ++i) out[i] = std::exp(in[i]);
}

void map_pow(float* __restrict out, const float* __restrict in, float power, std::size_t n) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < n; ++i) out[i] = std::pow(in[i], power);
}

void nbody_fast(float* __restrict ax, float* __restrict ay, float* __restrict az, const float* __restrict x,
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
