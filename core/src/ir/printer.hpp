// SPDX-License-Identifier: Apache-2.0
// The text form of kernels and tasks; its grammar is in sdk/docs/ir.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::ir {

/// The text form. Values and locals are numbered in the order of the text. So kernels that differ only in ids
/// have the same text. parse() is the inverse. Never fails: malformed references are printed as `%?` or `$?`.
std::string print(const Kernel& kernel, bool with_locations = false);

/// A task of `kernel` in the same style, for tests and reports; parse() does not accept it.
std::string print(const Kernel& kernel, const Task& task, bool with_locations = false);

/// Parts of print(kernel), for messages: the first line of each statement, and the names of values ("%7").
struct KernelParts {
  std::vector<std::string> statements, values;
};
KernelParts print_parts(const Kernel& kernel, std::span<const Statement* const> statements,
                        std::span<const ValueId> values);

/// The text form of a constant's bits: "1.5", "-0", "nan", "nan(0x7fc00001)", "-3", "true".
std::string print_constant(ScalarType type, std::uint64_t bits);

/// Quoted text; characters that need an escape are written as \" \\ \n \t \xNN.
std::string quote(std::string_view text);

}  // namespace weir::ir
