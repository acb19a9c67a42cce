// SPDX-License-Identifier: Apache-2.0
// Pairs of kernels of one module whose long names share their first letters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernels.hpp"

namespace weir::conformance {

/// A kernel with one array: it stores `value` in element `index`.
struct Twin {
  ReadyKernel code;
  std::uint64_t index;
  std::int64_t value;
};
struct Twins {
  std::size_t shared;  ///< number of letters that the names share
  Twin first, second;
};

/// Both kernels of a pair are in one code object. Names share up to 4,999 letters in the suite's own
/// `elf-x86_64`, up to 1,023 in its PTX, and up to 49 in those that Weir compiles. Throws Unsupported if the
/// device loads neither.
std::vector<Twins> twins();

}  // namespace weir::conformance
