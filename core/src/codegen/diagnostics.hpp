// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/DiagnosticHandler.h>

#include <cstdint>
#include <map>
#include <string>

namespace weir::codegen {

/// By function: the maximum number of elements in the vectors of its vectorised loops.
using VectorWidths = std::map<std::string, std::uint32_t>;

/// Collects LLVM's errors as text, and its vector widths; drops other remarks and warnings.
class DiagnosticCollector final : public llvm::DiagnosticHandler {
 public:
  DiagnosticCollector(std::string& messages, VectorWidths& vectors)
      : messages_(messages), vectors_(vectors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override;
  bool isAnalysisRemarkEnabled(llvm::StringRef) const override { return false; }
  bool isMissedOptRemarkEnabled(llvm::StringRef) const override { return false; }
  bool isPassedOptRemarkEnabled(llvm::StringRef pass) const override { return pass == "loop-vectorize"; }
  bool isAnyRemarkEnabled() const override { return true; }

 private:
  std::string& messages_;
  VectorWidths& vectors_;
};

/// Writes `text` to a new file in the temporary folder and returns its path, or "" when that fails.
std::string keep_for_report(const std::string& text);

}  // namespace weir::codegen
