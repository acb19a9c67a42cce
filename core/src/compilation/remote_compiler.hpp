// SPDX-License-Identifier: Apache-2.0
// codegen::Compiler in separate processes, so that a fault in LLVM does not affect this process.
#pragma once

#include <string>

#include "codegen/codegen.hpp"
#include "compilation/request.hpp"
#include "compilation/workers.hpp"

namespace weir::compilation {

/// Sends each call to a worker. Thread-safe. A worker that ends unexpectedly or exceeds the time limit
/// results in Error{compile} for the kernel that it compiled.
class RemoteCompiler final : public codegen::Compiler {
 public:
  explicit RemoteCompiler(GeneratorPolicy policy) : workers_(std::move(policy)) {}
  codegen::CodeObject compile(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                              const codegen::Target& target) override;
  std::string emit_text(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                        const codegen::Target& target, std::string_view what) override;

 private:
  /// Returns the result of the call that `request` encodes, or throws the exception of that call.
  Reply call(const ir::Kernel& kernel, const codegen::Target& target, const std::string& request);

  Workers workers_;
};

/// The code generator of this process. Its processes start with the first call of its functions. A forked
/// child starts its own.
codegen::Compiler& compiler();

}  // namespace weir::compilation
