// SPDX-License-Identifier: Apache-2.0
// The functions of twin_ranks.cu, which nvcc compiles on the machine with the GPUs.
#pragma once

#include "ranks_bench.hpp"

namespace weir::bench::ranks {

struct TwinRanks {
  /// Seconds for a sum of `bytes` in place over `ranks` devices by NCCL. Variant 0: one thread, grouped
  /// calls; 1: a thread for each device. 0, or an error; -2 if a sum is wrong.
  int (*all_reduce)(int variant, int ranks, long bytes, double sample_seconds, double* seconds);
  /// Seconds for a step of the stencil on one device and on all; -1 if there is no such variant, -2 if the
  /// results of both differ.
  int (*stencil)(int variant, int ranks, int rows, int columns, double* alone, double* together,
                 const char** words);
};

/// Throws std::runtime_error that names the missing part.
const TwinRanks& twin(const Options& options);

}  // namespace weir::bench::ranks
