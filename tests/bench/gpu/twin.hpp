// SPDX-License-Identifier: Apache-2.0
// The functions of twin.cu, twin_algorithms.cu and twin_chains.cu, loaded from the shared object in
// WEIR_BENCH_TWIN.
#pragma once

#include <cstdint>

#include "cuda_api.hpp"

namespace weir::bench::gpu {

struct Twin {
  int (*copy)(int, CUdeviceptr, CUdeviceptr, long, CUstream);
  int (*triad)(int, CUdeviceptr, CUdeviceptr, CUdeviceptr, float, long, CUstream);
  int (*dot)(int, CUdeviceptr, CUdeviceptr, CUdeviceptr, long, CUstream);
  int (*sum)(int, CUdeviceptr, CUdeviceptr, long, CUstream);
  int (*stencil)(int, CUdeviceptr, CUdeviceptr, int, int, CUstream);
  int (*nbody)(int, CUdeviceptr, CUdeviceptr, int, float, CUstream);
  int (*solve)(int, CUdeviceptr, CUdeviceptr, CUdeviceptr, long, CUstream);
  int (*histogram)(int, CUdeviceptr, CUdeviceptr, long, unsigned, CUstream);
  int (*product)(int, CUdeviceptr, CUdeviceptr, CUdeviceptr, int, CUstream);
  int (*sort)(int, CUdeviceptr, CUdeviceptr, CUdeviceptr, long, CUstream);
  int (*sort_by_key)(int, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, long,
                     CUstream);
  int (*exclusive_scan)(int, CUdeviceptr, CUdeviceptr, long, CUstream);
  int (*compact)(int, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, long, CUstream);
  int (*histogram_of_range)(int, CUdeviceptr, CUdeviceptr, int, double, double, long, CUstream);
  int (*reduce_by_key)(int, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, long, CUstream);
  int (*robots)(int, const CUdeviceptr*, long, int, CUstream);
  int (*six_maps)(int, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, long,
                  CUstream);
};

/// Throws std::runtime_error that names the missing part.
const Twin& twin();

}  // namespace weir::bench::gpu
