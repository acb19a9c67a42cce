// SPDX-License-Identifier: Apache-2.0
// Choice of the kernel for the layouts of a launch's struct arrays, and for its strided arrays.
#pragma once

#include <memory>
#include <span>
#include <weir/program.hpp>

#include "runtime/programs/program_state.hpp"

namespace weir::detail {

/// The program for the layouts of `arguments`, and for the strided arrays among them, which `strided` lists.
/// If all layouts are Layout::struct_of_arrays() and no array is strided, it is `program` itself, otherwise a
/// copy that `program` owns; the first caller makes the copy. Copies count launches together. A debugged
/// program has separate copies, which check more indices. A copy for strided arrays takes DenseArguments; the
/// arguments must have been checked. Throws Error{unsupported} if an algorithm of the kernel would take a
/// strided array.
const std::shared_ptr<ProgramState>& for_layouts(const std::shared_ptr<ProgramState>& program,
                                                 std::span<const LaunchArgument> arguments,
                                                 std::span<const StridedParameter> strided = {});

/// Whether the struct arrays among `arguments` have the program's layouts.
bool has_layouts(const ProgramState& program, std::span<const LaunchArgument> arguments) noexcept;

}  // namespace weir::detail
