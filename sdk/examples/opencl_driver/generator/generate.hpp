// SPDX-License-Identifier: Apache-2.0
// Generates kernels in OpenCL C from statements.
#pragma once

#include <cstdint>

#include "program.hpp"

namespace generator {

/// One kernel. Its arguments are the arrays, then the number of elements as an i64; for `part` 1 the number
/// of partial sums.
struct Task {
  std::string kernel;
  const Statement* statement;
  std::vector<std::string> arrays;  ///< variables; "NAME.parts" holds the block sums of a sum
  int part = 0;                     ///< a sum has two tasks, 0 and 1
};

/// Threads of a block and blocks of a sum; other kernels work with any number.
inline constexpr std::uint32_t threads = 64, blocks = 32;

struct Code {
  std::string text;
  std::vector<Task> tasks;
};

Code generate(const Program& program);

}  // namespace generator
