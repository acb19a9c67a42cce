// SPDX-License-Identifier: Apache-2.0
#include "codegen/diagnostics.hpp"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/raw_ostream.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace weir::codegen {

bool DiagnosticCollector::handleDiagnostics(const llvm::DiagnosticInfo& info) {
  if (const auto* remark = llvm::dyn_cast<llvm::OptimizationRemark>(&info)) {
    // "vectorized loop (vectorization width: 8, interleaved count: 4)"
    for (const auto& argument : remark->getArgs()) {
      std::uint32_t width = 0;
      if (argument.Key != "VectorizationFactor" || llvm::StringRef(argument.Val).getAsInteger(10, width))
        continue;
      std::uint32_t& widest = vectors_[remark->getFunction().getName().str()];
      widest = std::max(widest, width);
    }
  }
  if (info.getSeverity() == llvm::DS_Error) {
    llvm::raw_string_ostream out(messages_);
    if (!messages_.empty()) out << "; ";
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
  }
  return true;
}

std::string keep_for_report(const std::string& text) {
  std::error_code error;
  const std::filesystem::path base = std::filesystem::temp_directory_path(error);
  std::string path = ((error ? std::filesystem::path("/tmp") : base) / "weir-failed-XXXXXX.ll").string();
  const int file = ::mkstemps(path.data(), 3);
  if (file < 0) return "";
  llvm::raw_fd_ostream out(file, /*shouldClose=*/true);
  out << text;
  out.close();
  if (!out.has_error()) return path;
  out.clear_error();
  ::unlink(path.c_str());
  return "";
}

}  // namespace weir::codegen
