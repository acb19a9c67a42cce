// SPDX-License-Identifier: Apache-2.0
// Launches of kernels with algorithms: the parts between the algorithms are programs of their own, and the
// algorithms are the functions of <weir/algorithms.hpp>.
#pragma once

#include <span>
#include <weir/stream.hpp>

#include "runtime/programs/program_state.hpp"

namespace weir {
class GraphBuilder;
}

namespace weir::detail {

class ReturnTarget;

/// Submits all steps of a launch whose arguments are checked, as one step of the stream. See launch().
void launch_parts(const ProgramState& program, const StreamRef& on, std::span<const LaunchArgument> arguments,
                  const LaunchOptions& options, ReturnTarget* returns);

/// Records all steps of a launch, or none if one of them fails.
void record_parts(const ProgramState& program, GraphBuilder& graph, std::span<const LaunchArgument> arguments,
                  const LaunchOptions& options);

}  // namespace weir::detail
