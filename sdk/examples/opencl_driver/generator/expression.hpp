// SPDX-License-Identifier: Apache-2.0
// Arithmetic of single precision: as a tree, as OpenCL C, and as a value on the host.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace generator {

/// A number, the index `i`, a variable, or an operation: + - * / with two operands, - and functions with one.
struct Expression {
  enum class Kind { number, index, variable, operation };
  Kind kind;
  std::string text;  ///< the number as it was written, or the name of what it is
  std::unique_ptr<Expression> left, right;
};

/// Reads all of `text`. Throws std::invalid_argument that says what was expected and where.
std::unique_ptr<Expression> parse_expression(std::string_view text);

/// Adds the variables that it reads.
void add_variables(const Expression& expression, std::set<std::string>& names);

/// As OpenCL C, with `i` as the index; `element` says how a variable's element is written.
std::string to_opencl_c(const Expression& expression,
                        const std::function<std::string(const std::string&)>& element);

/// The value for index `i`; `element` gives those of variables.
float evaluate(const Expression& expression, long i, const std::function<float(const std::string&)>& element);

}  // namespace generator
