// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::compilation {

/// The arguments of codegen::Compiler::compile, reduced to those that determine the machine code.
struct CanonicalRequest {
  /// Equal for two requests exactly if their code is interchangeable. Without locations, the texts of
  /// asserts, and the names of the kernel, its parameters and its tasks; values and locals are numbered by
  /// their first use in a task.
  std::string input;
  /// A hash of the locations and the names of their files, which only the source lines in the code depend on.
  std::uint64_t lines = 0;
};

CanonicalRequest canonical_request(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                   const codegen::Target& target);

}  // namespace weir::compilation
