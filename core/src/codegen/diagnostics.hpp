// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/DiagnosticHandler.h>

#include <string>

namespace weir::codegen {

/// Gathers LLVM's errors as text; remarks and warnings are dropped.
class DiagnosticCollector final : public llvm::DiagnosticHandler {
 public:
  explicit DiagnosticCollector(std::string& messages) : messages_(messages) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override;
  bool isAnalysisRemarkEnabled(llvm::StringRef) const override { return false; }
  bool isMissedOptRemarkEnabled(llvm::StringRef) const override { return false; }
  bool isPassedOptRemarkEnabled(llvm::StringRef) const override { return false; }
  bool isAnyRemarkEnabled() const override { return false; }

 private:
  std::string& messages_;
};

/// Writes `text` to a new file in the temporary folder and returns its path, or "" when that fails.
std::string keep_for_report(const std::string& text);

}  // namespace weir::codegen
