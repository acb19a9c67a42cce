// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <tbb/parallel_for.h>

#include "peers.hpp"

namespace weir::bench::peer {

void parallel_for_empty(std::size_t blocks) {
  tbb::parallel_for(std::size_t{0}, blocks, [](std::size_t block) { benchmark::DoNotOptimize(block); });
}

}  // namespace weir::bench::peer
