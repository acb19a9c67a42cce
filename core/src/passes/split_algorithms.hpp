// SPDX-License-Identifier: Apache-2.0
// Kernels with algorithms, cut into kernels without them.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "ir/ir.hpp"

namespace weir::passes {

/// The values of one type that parts of a kernel store for later parts: an array of one dimension.
struct CarriedArray {
  ScalarType type = ScalarType::boolean;
  std::int64_t count = 0;
};

/// What an `algorithm` of the kernel does, and where it is.
struct AlgorithmStep {
  ir::Algorithm algorithm;
  ir::Location location;
};

struct SplitKernel {
  /// In the order of the kernel. Some kernels may have no task.
  std::vector<std::variant<ir::Kernel, AlgorithmStep>> steps;
  /// Parameters of every part, after the parameters of the kernel. A launch provides the arrays; parts write
  /// them before later parts read them.
  std::vector<CarriedArray> carried;
};

/// Cuts a valid kernel at its algorithms. Stream blocks with algorithms follow one another. A part computes
/// again what it needs of constants, scalars and extents; other values and local variables of earlier parts
/// arrive in arrays.
SplitKernel split_at_algorithms(const ir::Kernel& kernel);

/// Whether the statement is an algorithm or contains one.
bool has_algorithm(const ir::Statement& statement);
/// Whether a stream block of the kernel contains an algorithm.
bool has_algorithms_in_regions(const ir::Kernel& kernel);
/// The kernel with loops in place of its algorithms that read and write the same arrays. For a plan that
/// finds conflicts between stream blocks, never to be run.
ir::Kernel with_loops_for_algorithms(const ir::Kernel& kernel);

}  // namespace weir::passes
