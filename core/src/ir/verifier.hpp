// SPDX-License-Identifier: Apache-2.0
// Checks kernels and tasks against the rules of the IR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::ir {

/// Limits for every kernel, so that users of kernels need no size checks.
inline constexpr std::size_t max_parameters = 256;
inline constexpr std::size_t max_nesting = 128;               ///< statement blocks inside statement blocks
inline constexpr std::size_t max_repeats = 8;                 ///< `repeat` inside `repeat`
inline constexpr std::size_t max_ids = std::size_t{1} << 24;  ///< values, and locals
inline constexpr std::uint64_t max_local_bytes = 256 * 1024;  ///< of all locals of a kernel together
inline constexpr std::size_t max_diagnostics = 50;            ///< the rest is not reported

/// One fault of a kernel: a sentence that names the fault, the expectation and the remedy.
struct Diagnostic {
  Location location;
  std::string message;
};

/// All faults of `kernel`; empty when it is valid. Safe for any contents.
std::vector<Diagnostic> verify(const Kernel& kernel);

/// Throws one Error{kernel} that carries all diagnostics.
void verify_or_throw(const Kernel& kernel);

/// Checks a task made from a valid `kernel`: it is self-contained, and its arguments cover all parameters
/// that it uses.
std::vector<Diagnostic> verify_task(const Kernel& kernel, const Task& task);

/// "file:line:column", or "kernel "NAME"" for an unknown location.
std::string describe(const Kernel& kernel, const Location& location);

/// Whether a parameter has the name that tracing assigns to parameters without a name, "p0" for the first.
bool is_generated_name(std::string_view name, std::size_t index);

/// A parameter in a message: "@x", or "@p0 (View<float>)" for a generated name.
std::string describe_parameter(const Kernel& kernel, std::size_t index);

/// Throws Error{kernel} with one line per diagnostic: "file:line:column: message".
[[noreturn]] void throw_diagnostics(const Kernel& kernel, std::span<const Diagnostic> diagnostics);

}  // namespace weir::ir
