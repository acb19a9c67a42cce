// SPDX-License-Identifier: Apache-2.0
// Peers written without Weir by a careful C++ programmer: OpenMP loops, compiled for this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::bench::peer {

// g++ -O3 -march=native -fopenmp
void triad(float* a, const float* b, const float* c, float scale, std::size_t n);
void stencil(float* out, const float* in, std::size_t rows, std::size_t cols);  // one 5-point sweep
void nbody(float* ax, float* ay, float* az, const float* x, const float* y, const float* z, const float* mass,
           std::size_t n, float softening);

/// Each thread adds up its part, then writes it from its start value.
void exclusive_scan(std::uint32_t* out, const std::uint32_t* in, std::size_t n);

/// Multiplies n floats, `stride` floats apart.
void scale_member(float* first, std::size_t stride, std::size_t n);
/// c = a * b of n x n floats, n a multiple of `tile`, with tiles of both in memory of the thread.
inline constexpr std::size_t tile = 32;
void tiled_product(float* c, const float* a, const float* b, std::size_t n);

/// A sparse matrix, row by row.
struct Rows {
  std::size_t rows;
  const std::int32_t *start, *column;
  const double* value;
};
/// Iterations of conjugate gradients on one core, without a test of convergence. The arrays have an element
/// for each row.
void conjugate_gradients(const Rows& a, double* x, double* r, double* p, double* q, int iterations);
/// Adds to 256 bins of one thread, then to the given ones.
void histogram(std::uint32_t* bins, const std::uint8_t* values, std::size_t n);

// g++ -Ofast -march=native -fopenmp, which uses glibc's libmvec
void map_sin(float* out, const float* in, std::size_t n);
void map_sin(double* out, const double* in, std::size_t n);
void map_exp(float* out, const float* in, std::size_t n);
void map_exp(double* out, const double* in, std::size_t n);
void map_log(float* out, const float* in, std::size_t n);
void map_log(double* out, const double* in, std::size_t n);
void map_pow(float* out, const float* in, float power, std::size_t n);
void map_pow(double* out, const double* in, double power, std::size_t n);
void nbody_fast(float* ax, float* ay, float* az, const float* x, const float* y, const float* z,
                const float* mass, std::size_t n, float softening);

// oneTBB
void parallel_sort(std::uint32_t* keys, std::size_t n);
void parallel_for_empty(std::size_t blocks);

}  // namespace weir::bench::peer
