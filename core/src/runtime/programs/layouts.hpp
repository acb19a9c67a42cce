// SPDX-License-Identifier: Apache-2.0
// Choice of the kernel for the layouts of a launch's struct arrays.
#pragma once

#include <memory>
#include <span>
#include <weir/program.hpp>

#include "runtime/programs/program_state.hpp"

namespace weir::detail {

/// The program for the layouts of `arguments`: `program` itself for Layout::struct_of_arrays() only, and
/// otherwise a copy of it, made by the first caller, that `program` owns. Copies count launches together. A
/// program that is debugged has copies of its own, which check more indices.
const std::shared_ptr<ProgramState>& for_layouts(const std::shared_ptr<ProgramState>& program,
                                                 std::span<const LaunchArgument> arguments);

/// Whether the struct arrays among `arguments` have the program's layouts.
bool has_layouts(const ProgramState& program, std::span<const LaunchArgument> arguments) noexcept;

}  // namespace weir::detail
