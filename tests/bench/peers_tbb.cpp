// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include "peers.hpp"

namespace weir::bench::peer {

void parallel_sort(std::uint32_t* keys, std::size_t n) {
  tbb::parallel_sort(keys, keys + n);
}

void parallel_for_empty(std::size_t blocks) {
  tbb::parallel_for(std::size_t{0}, blocks, [](std::size_t block) { benchmark::DoNotOptimize(block); });
}

}  // namespace weir::bench::peer
