// SPDX-License-Identifier: Apache-2.0
// The text form of kernels and tasks; its grammar is in sdk/docs/ir.md.
#pragma once

#include <string>
#include <string_view>

#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::ir {

/// The text form. Values and locals are numbered in the order of the text, whatever their ids are, so that
/// kernels that differ only in ids print alike. parse() reads it back. Never fails: what is malformed prints
/// as `%?` or `$?`.
std::string print(const Kernel& kernel, bool with_locations = false);

/// A task of `kernel` in the same style, for tests and reports; not read back.
std::string print(const Kernel& kernel, const Task& task, bool with_locations = false);

/// A constant's bits as the text form writes them: "1.5", "-0", "nan", "nan(0x7fc00001)", "-3", "true".
std::string print_constant(ScalarType type, std::uint64_t bits);

/// Text in quotes, with \" \\ \n \t \xNN for what cannot stand in them.
std::string quote(std::string_view text);

}  // namespace weir::ir
