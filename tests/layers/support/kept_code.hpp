// SPDX-License-Identifier: Apache-2.0
// Code that was generated once is handed out again to every program of the same text, so that a test may
// build its kernels a thousand times over, and a thousand processes may (code_folder.hpp). For test programs
// that are linked with --wrap=dlsym and include this once: the core then finds this compiler where it looks
// for that of libweir-codegen.
#pragma once

#include <dlfcn.h>

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
                      std::to_string(target.facts.number()) + "\n" + ir::print(kernel);
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
  std::string version() const override { return real_.version(); }

 private:
  codegen::Compiler& real_;
  const CodeFolder folder_;
  std::mutex mutex_;
  std::map<std::string, codegen::CodeObject> kept_;
};

inline decltype(&weir_codegen) real_codegen = nullptr;

inline codegen::Compiler* kept_codegen(std::uint32_t abi) {
  static KeptCode* const kept = [&]() -> KeptCode* {
    codegen::Compiler* const real = real_codegen(abi);
    return real ? new KeptCode(*real) : nullptr;
  }();
  return kept;
}

}  // namespace weir::test

extern "C" {
void* __real_dlsym(void* library, const char* name);  // NOLINT: the linker's name

void* __wrap_dlsym(void* library, const char* name) {  // NOLINT: the linker's name
  void* const found = __real_dlsym(library, name);
  if (!found || std::string_view(name) != "weir_codegen") return found;
  weir::test::real_codegen = reinterpret_cast<decltype(&weir_codegen)>(found);
  return reinterpret_cast<void*>(&weir::test::kept_codegen);
}
}
