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

/// Limits that every kernel keeps, so that no consumer needs its own guard against absurd sizes.
inline constexpr std::size_t max_parameters = 256;
inline constexpr std::size_t max_nesting = 128;               ///< blocks inside blocks
inline constexpr std::size_t max_ids = std::size_t{1} << 24;  ///< values, and locals
inline constexpr std::uint64_t max_local_bytes = 256 * 1024;  ///< of all locals of a kernel together
inline constexpr std::size_t max_diagnostics = 50;            ///< the rest is not reported

/// One thing that is wrong with a kernel: a sentence that names it, what was expected and what to do.
struct Diagnostic {
  Location location;
  std::string message;
};

/// Everything that is wrong with `kernel`; empty when it is sound. Safe for any contents.
std::vector<Diagnostic> verify(const Kernel& kernel);

/// Throws one Error{kernel} that carries all diagnostics.
void verify_or_throw(const Kernel& kernel);

/// The same for a task made of a sound `kernel`: it is self-contained and its arguments cover what it uses.
std::vector<Diagnostic> verify_task(const Kernel& kernel, const Task& task);

/// "file:line:column", or "kernel "NAME"" where the place is not known.
std::string describe(const Kernel& kernel, const Location& location);

/// Whether a parameter's name is the one that tracing gives to parameters without a name, "p0" for the first.
bool is_generated_name(std::string_view name, std::size_t index);

/// A parameter in a message: "@x", or "parameter 1 (View<float>)" where the kernel gave it no name of its
/// own.
std::string describe_parameter(const Kernel& kernel, std::size_t index);

/// Throws Error{kernel} with one line per diagnostic: "file:line:column: message".
[[noreturn]] void throw_diagnostics(const Kernel& kernel, std::span<const Diagnostic> diagnostics);

}  // namespace weir::ir
