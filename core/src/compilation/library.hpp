// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "codegen/codegen.hpp"

namespace weir::compilation {

/// libweir-codegen, opened on first use. Not thread-safe.
class Library {
 public:
  /// Null when it cannot be used.
  codegen::Compiler* open();
  /// Why it cannot be used.
  const std::string& problem() const { return problem_; }

 private:
  codegen::Compiler* compiler_ = nullptr;
  std::string problem_;
};

}  // namespace weir::compilation
