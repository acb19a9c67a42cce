// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "peer_nbody.hpp"
#include "peers.hpp"

namespace weir::bench::peer {

#define WEIR_MAP(name, Real)                                                                       \
  void map_##name(Real* __restrict out, const Real* __restrict in, std::size_t n) {                \
    _Pragma("omp parallel for simd schedule(static)") for (std::size_t i = 0; i < n; ++i) out[i] = \
        std::name(in[i]);                                                                          \
  }
WEIR_MAP(sin, float)
WEIR_MAP(sin, double)
WEIR_MAP(exp, float)
WEIR_MAP(exp, double)
WEIR_MAP(log, float)
WEIR_MAP(log, double)
#undef WEIR_MAP

void map_pow(float* __restrict out, const float* __restrict in, float power, std::size_t n) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < n; ++i) out[i] = std::pow(in[i], power);
}

void map_pow(double* __restrict out, const double* __restrict in, double power, std::size_t n) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < n; ++i) out[i] = std::pow(in[i], power);
}

void nbody_fast(float* ax, float* ay, float* az, const float* x, const float* y, const float* z,
                const float* mass, std::size_t n, float softening) {
  nbody_loop(ax, ay, az, x, y, z, mass, n, softening);
}

}  // namespace weir::bench::peer
