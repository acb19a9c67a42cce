// SPDX-License-Identifier: Apache-2.0
// From statements to kernels in OpenCL C.
#pragma once

#include <cstdint>

#include "program.hpp"

namespace generator {

/// One kernel. Its arguments are the arrays, then the number of elements as an i64 (the partial sums for
/// `part` of 1).
struct Task {
  std::string kernel;
  const Statement* statement;
  std::vector<std::string> arrays;  ///< variables; "NAME.parts" holds the sums of the blocks of a sum
  int part = 0;                     ///< a sum takes two tasks, 0 and 1
};

/// How many threads and blocks sums are cut into; other kernels are right for any number.
inline constexpr std::uint32_t threads = 64, blocks = 32;

struct Code {
  std::string text;
  std::vector<Task> tasks;
};

Code generate(const Program& program);

}  // namespace generator
