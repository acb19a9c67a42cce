// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <vector>

#include "peer_nbody.hpp"
#include "peers.hpp"

namespace weir::bench::peer {

void triad(float* __restrict a, const float* __restrict b, const float* __restrict c, float scale,
           std::size_t n) {
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

void exclusive_scan(std::uint32_t* __restrict out, const std::uint32_t* __restrict in, std::size_t n) {
  std::vector<std::uint32_t> sums;
#pragma omp parallel
  {
    const auto threads = std::size_t(omp_get_num_threads()), thread = std::size_t(omp_get_thread_num());
    const std::size_t begin = n * thread / threads, end = n * (thread + 1) / threads;
#pragma omp single
    sums.assign(threads, 0);
    std::uint32_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += in[i];
    sums[thread] = sum;
#pragma omp barrier
    sum = 0;
    for (std::size_t t = 0; t < thread; ++t) sum += sums[t];
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = sum;
      sum += in[i];
    }
  }
}

void conjugate_gradients(const Rows& a, double* __restrict x, double* __restrict r, double* __restrict p,
                         double* __restrict q, int iterations) {
  double rr = 0;
  for (std::size_t i = 0; i < a.rows; ++i) rr += r[i] * r[i];
  for (int iteration = 0; iteration < iterations; ++iteration) {
    double pq = 0;
    for (std::size_t i = 0; i < a.rows; ++i) {
      double sum = 0;
      for (std::int32_t k = a.start[i]; k < a.start[i + 1]; ++k) sum += a.value[k] * p[a.column[k]];
      q[i] = sum;
      pq += p[i] * sum;
    }
    const double alpha = rr / pq;
    double next = 0;
    for (std::size_t i = 0; i < a.rows; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      next += r[i] * r[i];
    }
    const double beta = next / rr;
    rr = next;
    for (std::size_t i = 0; i < a.rows; ++i) p[i] = r[i] + beta * p[i];
  }
}

void histogram(std::uint32_t* bins, const std::uint8_t* values, std::size_t n) {
  std::uint32_t own[256] = {};
  for (std::size_t i = 0; i < n; ++i) ++own[values[i]];
  for (int bin = 0; bin < 256; ++bin) bins[bin] += own[bin];
}

void scale_member(float* first, std::size_t stride, std::size_t n) {
  if (stride == 1) {
#pragma omp parallel for
    for (std::size_t i = 0; i < n; ++i) first[i] *= 1.5f;
    return;
  }
#pragma omp parallel for
  for (std::size_t i = 0; i < n; ++i) first[i * stride] *= 1.5f;
}

void tiled_product(float* __restrict c, const float* __restrict a, const float* __restrict b, std::size_t n) {
#pragma omp parallel for collapse(2)
  for (std::size_t i0 = 0; i0 < n; i0 += tile)
    for (std::size_t j0 = 0; j0 < n; j0 += tile) {
      float tile_a[tile][tile], tile_b[tile][tile], sum[tile][tile] = {};
      for (std::size_t k0 = 0; k0 < n; k0 += tile) {
        for (std::size_t i = 0; i < tile; ++i)
          for (std::size_t j = 0; j < tile; ++j) {
            tile_a[i][j] = a[(i0 + i) * n + k0 + j];
            tile_b[i][j] = b[(k0 + i) * n + j0 + j];
          }
        for (std::size_t i = 0; i < tile; ++i)
          for (std::size_t k = 0; k < tile; ++k)
            for (std::size_t j = 0; j < tile; ++j) sum[i][j] += tile_a[i][k] * tile_b[k][j];
      }
      for (std::size_t i = 0; i < tile; ++i)
        for (std::size_t j = 0; j < tile; ++j) c[(i0 + i) * n + j0 + j] = sum[i][j];
    }
}

}  // namespace weir::bench::peer
