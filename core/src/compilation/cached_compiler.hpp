// SPDX-License-Identifier: Apache-2.0
// codegen::Compiler with a cache on disk between it and the code generator.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "cache/store.hpp"
#include "codegen/codegen.hpp"

namespace weir::compilation {

/// Everything besides a request that determines its code: the build of Weir, LLVM, the math library and the
/// driver ABI. Differs when the files of an installed code generator differ in size or time. Opens none of
/// them.
std::string generator_identity();

/// Generates code only when the cache has none. Threads that need the same code at once wait for the first.
/// Thread-safe.
class CachedCompiler final : public codegen::Compiler {
 public:
  /// `generator` is called when code must be generated for the first time. `identity` is generator_identity()
  /// or, in tests, that of another generator.
  CachedCompiler(cache::Settings settings, std::string identity, codegen::Compiler& (*generator)())
      : store_(std::move(settings)), identity_(std::move(identity)), generator_(generator) {}

  /// As codegen::Compiler::compile, with two differences when the code was generated for another program. Its
  /// symbols may be those of that program, so callers use the symbols of the result. It has no source lines
  /// if those of that program differ.
  codegen::CodeObject compile(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                              const codegen::Target& target) override;
  /// Always generated.
  std::string emit_text(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                        const codegen::Target& target, std::string_view what) override;

  cache::Store& store() { return store_; }

 private:
  class Turn;

  cache::Store store_;
  const std::string identity_;
  codegen::Compiler& (*const generator_)();
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<std::string_view> generating_;  ///< inputs of the entries that threads are generating
};

/// The compiler for launches in this process: compiler() with the cache of current_cache_policy(), if it has
/// one.
codegen::Compiler& cached_compiler();

/// The store of cached_compiler(); null if this process uses no cache.
cache::Store* cache_store();

}  // namespace weir::compilation
