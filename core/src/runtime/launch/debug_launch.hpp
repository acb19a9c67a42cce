// SPDX-License-Identifier: Apache-2.0
// Launches that run in the interpreter on the host, with checks that generated code does not make.
#pragma once

#include <span>
#include <string_view>
#include <weir/stream.hpp>

#include "runtime/programs/program_state.hpp"

namespace weir::detail {

/// Whether WEIR_DEBUG, a list of kernels separated by commas, has the name or `*`. Names that no kernel has
/// had are printed when the process ends.
bool is_named_for_debugging(std::string_view kernel);

/// Makes later launches of the program debug_launches, or ordinary ones again.
void debug(ProgramState& program, bool on) noexcept;

/// Runs a launch whose arguments are checked in the order of `stream`, and returns when it has ended. Throws
/// Error{assertion} at the first fault; the arrays are then unchanged.
void debug_launch(ProgramState& program, const StreamRef& stream, std::span<const LaunchArgument> arguments,
                  const LaunchOptions& options);

}  // namespace weir::detail
