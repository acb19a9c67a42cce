// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "codegen/codegen.hpp"

namespace weir::compilation {

/// The file of libweir-codegen, in the parent of the folder that contains `program`, which is weir-codegen.
std::filesystem::path library_of(const std::filesystem::path& program);

/// libweir-codegen, opened on first use. Not thread-safe.
class Library {
 public:
  /// library_of(program).
  explicit Library(std::filesystem::path program) : program_(std::move(program)) {}
  /// Null when it cannot be used. Throws Error{out_of_memory} if memory is short; the next call tries again.
  codegen::Compiler* open();
  /// Why it cannot be used.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path program_;
  codegen::Compiler* compiler_ = nullptr;
  std::string problem_;
};

}  // namespace weir::compilation
