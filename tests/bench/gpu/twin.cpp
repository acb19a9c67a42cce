// SPDX-License-Identifier: Apache-2.0
#include "twin.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace weir::bench::gpu {

const Twin& twin() {
  static const Twin functions = [] {
    const char* path = std::getenv("WEIR_BENCH_TWIN");
    if (!path)
      throw std::runtime_error("no twin: set WEIR_BENCH_TWIN to what nvcc made of tests/bench/gpu/twin*.cu");
    (void)cuda();  // its runtime uses the current context
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    Twin all{};
    const auto find = [&](auto& function, const char* name) {
      void* found = dlsym(library, name);
      if (!found) throw std::runtime_error(std::string(path) + " has no " + name);
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find(all.copy, "twin_copy");
    find(all.triad, "twin_triad");
    find(all.dot, "twin_dot");
    find(all.sum, "twin_sum");
    find(all.stencil, "twin_stencil");
    find(all.nbody, "twin_nbody");
    find(all.solve, "twin_solve");
    find(all.histogram, "twin_histogram");
    find(all.product, "twin_product");
    find(all.sort, "twin_sort");
    find(all.sort_by_key, "twin_sort_by_key");
    find(all.exclusive_scan, "twin_exclusive_scan");
    find(all.compact, "twin_compact");
    find(all.histogram_of_range, "twin_histogram_of_range");
    find(all.reduce_by_key, "twin_reduce_by_key");
    find(all.robots, "twin_robots");
    find(all.six_maps, "twin_six_maps");
    return all;
  }();
  return functions;
}

}  // namespace weir::bench::gpu
