// SPDX-License-Identifier: Apache-2.0
// The n-body loop of both peers; static, so that each including file compiles it with its own flags.
#pragma once

#include <cmath>
#include <cstddef>

namespace weir::bench::peer {

static void nbody_loop(float* __restrict ax, float* __restrict ay, float* __restrict az, const float* __restrict x,
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
