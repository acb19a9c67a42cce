// SPDX-License-Identifier: Apache-2.0
// Single-precision arithmetic: as a tree, as OpenCL C, and evaluated on the host.
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
  std::string text;  ///< the number's text, or the name of the variable or operation
  std::unique_ptr<Expression> left, right;
};

/// Parses all of `text`. Throws std::invalid_argument that names the position and the expected token.
std::unique_ptr<Expression> parse_expression(std::string_view text);

/// Adds the variables that the expression reads.
void add_variables(const Expression& expression, std::set<std::string>& names);

/// Returns OpenCL C with `i` as the index; `element` returns the text of a variable's element.
std::string to_opencl_c(const Expression& expression,
                        const std::function<std::string(const std::string&)>& element);

/// The value for index `i`; `element` returns the values of variables.
float evaluate(const Expression& expression, long i, const std::function<float(const std::string&)>& element);

}  // namespace generator
