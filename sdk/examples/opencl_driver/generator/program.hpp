// SPDX-License-Identifier: Apache-2.0
// The language, with one statement per line.
//
//   n = 1000           the number of elements of each array; the first statement
//   x = i * 0.5        a new array: the expression for every index i
//   s = sum x * x      a new number: the sum over all i
//   {                  the statements between braces run at the same time
//   # ...              a comment
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expression.hpp"

namespace generator {

struct Statement {
  std::string name;
  bool is_sum = false;
  std::unique_ptr<Expression> value;
  int region = -1;  ///< index of the enclosing braces; -1 outside of braces
  int block = 0;    ///< index among the statements of its region
};

struct Program {
  long size = 0;
  std::vector<Statement> statements;

  /// Whether a variable is a number, not an array.
  bool is_number(const std::string& name) const;
};

/// Throws std::invalid_argument that names the line.
Program parse_program(std::string_view text);

/// The expected value of each variable, computed on the host; numbers have one element.
std::map<std::string, std::vector<float>> run_on_host(const Program& program);

}  // namespace generator
