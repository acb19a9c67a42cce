// SPDX-License-Identifier: Apache-2.0
// The kernels that a program makes, for the packs of weir_add_kernels().
#pragma once

#include <memory>

#include "runtime/programs/program_state.hpp"

namespace weir::detail {

/// Called for each program that is made; keeps it if keep_programs() was called. Thread-safe.
void note_program(const std::shared_ptr<ProgramState>& program);

}  // namespace weir::detail
