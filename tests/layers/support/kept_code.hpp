// SPDX-License-Identifier: Apache-2.0
// Caches generated code, so that a test can build its kernels a thousand times and a thousand processes can
// share them (code_folder.hpp). For test programs that link the core with
// --wrap=_ZN4weir11compilation8compilerEv and include this header once: the core then gets this compiler
// instead of weir::compilation::compiler().
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "codegen/codegen.hpp"
#include "ir/printer.hpp"
#include "support/code_folder.hpp"

namespace weir::test {

class KeptCode : public codegen::Compiler {
 public:
  explicit KeptCode(codegen::Compiler& real) : real_(real) {}

  codegen::CodeObject compile(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                              const codegen::Target& target) override {
    std::string key = target.format + " " + target.cpu + " " + target.features + " " +
                      std::to_string(target.assumptions.number()) + "\n" + ir::print(kernel);
    for (const ir::Task* task : tasks) key += ir::print(kernel, *task);
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
    std::optional<codegen::CodeObject> code = folder_.find(key);
    if (!code) {
      code = real_.compile(kernel, tasks, target);
      folder_.keep(key, *code);
    }
    return kept_.emplace(std::move(key), std::move(*code)).first->second;
  }
  std::string emit_text(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                        const codegen::Target& target, std::string_view what) override {
    return real_.emit_text(kernel, tasks, target, what);
  }

 private:
  codegen::Compiler& real_;
  const CodeFolder folder_;
  std::mutex mutex_;
  std::map<std::string, codegen::CodeObject> kept_;
};

}  // namespace weir::test

// The linker's names for compilation::compiler(). C knows no references, so these are pointers.
extern "C" {
weir::codegen::Compiler* __real__ZN4weir11compilation8compilerEv();  // NOLINT: the linker's name

weir::codegen::Compiler* __wrap__ZN4weir11compilation8compilerEv() {  // NOLINT: the linker's name
  static auto* const kept = new weir::test::KeptCode(*__real__ZN4weir11compilation8compilerEv());
  return kept;
}
}
