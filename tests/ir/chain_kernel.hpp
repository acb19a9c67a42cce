// SPDX-License-Identifier: Apache-2.0
// Random kernels that are chains of small loops, for tests of merged loops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "choices.hpp"

namespace weir::test {

/// A kernel in text form with one meaning to the bit: iterations of a loop write their own elements or rows,
/// except for atomics on integers, and read own elements of arrays that the loop writes and any elements of
/// others. Indices are inside arrays. Neighbouring loops run over one space or share an index, and depend on
/// each other in every way: own elements, neighbours, halves, constants, loaded indices, rows and columns.
/// Some are repeated, by counts of the host or of the device, or while a condition holds. Some are one stream
/// block of a region, beside a loop that fills an array of its own. Some have inner loops of constant length,
/// or store to an element more than once.
struct ChainKernel {
  std::string text;
  std::vector<std::vector<std::int64_t>> extents;  ///< by parameter; empty for scalars
  /// By array parameter: the parameter of the same type and extents whose memory it is; itself for most.
  std::vector<std::uint32_t> memory;
  /// Array parameters that begin one element or row into their memory.
  std::vector<std::uint32_t> shifted;
};

ChainKernel chain_kernel(Choices& choices);

}  // namespace weir::test
