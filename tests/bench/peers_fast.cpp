// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "peer_nbody.hpp"
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

void nbody_fast(float* ax, float* ay, float* az, const float* x, const float* y, const float* z, const float* mass,
                std::size_t n, float softening) {
  nbody_loop(ax, ay, az, x, y, z, mass, n, softening);
}

}  // namespace weir::bench::peer
