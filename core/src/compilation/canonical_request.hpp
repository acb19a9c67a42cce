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
  /// Equal exactly if the code of two requests is interchangeable. Omits locations, the texts of asserts and
  /// prints, and the names of the kernel, its parameters and its tasks. Values and locals are numbered by
  /// first use in a task.
  std::string input;
  /// A hash of the locations and the names of their files, which only the source lines in the code depend on.
  std::uint64_t lines = 0;
};

CanonicalRequest canonical_request(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                   const codegen::Target& target);

}  // namespace weir::compilation
