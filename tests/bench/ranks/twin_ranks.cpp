// SPDX-License-Identifier: Apache-2.0
#include "twin_ranks.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace weir::bench::ranks {

const TwinRanks& twin(const Options& options) {
  static const TwinRanks functions = [&] {
    if (options.twin.empty())
      throw std::runtime_error("no twin: give --twin the library that nvcc makes of twin_ranks.cu");
    void* const library = dlopen(options.twin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    TwinRanks all{};
    const auto find = [&](auto& function, const char* name) {
      void* const found = dlsym(library, name);
      if (!found) throw std::runtime_error(options.twin + " has no " + name);
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find(all.all_reduce, "twin_all_reduce");
    find(all.stencil, "twin_ranks_stencil");
    return all;
  }();
  return functions;
}

}  // namespace weir::bench::ranks
