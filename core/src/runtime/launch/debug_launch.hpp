// SPDX-License-Identifier: Apache-2.0
// Launches that run in the interpreter on the host, with checks that generated code does not make.
#pragma once

#include <span>
#include <weir/stream.hpp>

#include "runtime/programs/program_state.hpp"

namespace weir::detail {

/// Makes later launches of the program debug_launches, or ordinary ones again.
void debug(ProgramState& program, bool on) noexcept;

/// Runs a launch whose arguments are checked in the order of `stream`, and returns when it has ended. Throws
/// Error{assertion} at the first fault; the arrays are then unchanged.
void debug_launch(ProgramState& program, const StreamRef& stream, std::span<const LaunchArgument> arguments,
                  const LaunchOptions& options);

}  // namespace weir::detail
