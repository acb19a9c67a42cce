// SPDX-License-Identifier: Apache-2.0
#include "compilation/cached_compiler.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "compilation/cache_policy.hpp"
#include "compilation/canonical_request.hpp"
#include "compilation/kept_code.hpp"
#include "compilation/remote_compiler.hpp"

namespace weir::compilation {
namespace {

std::atomic<CachedCompiler*> current_cached{nullptr};

void drop_in_forked_child() {
  // Never destroyed: another thread of the parent may have held its lock at the fork.
  current_cached.store(nullptr);
}

CachedCompiler& current() {
  if (CachedCompiler* const ready = current_cached.load(std::memory_order_acquire)) return *ready;
  // No static variable with a guard: the process may be forked while another thread holds the guard.
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, drop_in_forked_child);
  auto made = std::make_unique<CachedCompiler>(cache_settings(current_cache_policy()), generator_identity(),
                                               &compiler);
  CachedCompiler* ready = nullptr;
  if (current_cached.compare_exchange_strong(ready, made.get(), std::memory_order_acq_rel))
    ready = made.release();
  return *ready;
}

}  // namespace

/// One thread generates an entry at a time.
class CachedCompiler::Turn {
 public:
  /// Waits for the thread that generates the entry of `input`, which must live as long as this.
  Turn(CachedCompiler& compiler, std::string_view input) : compiler_(compiler) {
    std::unique_lock lock(compiler_.mutex_);
    while (!(place_ = compiler_.generating_.insert(input)).second) {
      waited_ = true;
      compiler_.ended_.wait(lock);
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    {
      const std::lock_guard lock(compiler_.mutex_);
      compiler_.generating_.erase(place_.first);
    }
    compiler_.ended_.notify_all();
  }
  bool waited() const { return waited_; }

 private:
  CachedCompiler& compiler_;
  std::pair<std::set<std::string_view>::iterator, bool> place_;
  bool waited_ = false;
};

codegen::CodeObject CachedCompiler::compile(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                            const codegen::Target& target) {
  // The processor "native" depends on the machine.
  if (store_.settings().folder.empty() || target.cpu == "native")
    return generator_().compile(kernel, tasks, target);
  const CanonicalRequest request = canonical_request(kernel, tasks, target);
  cache::Entry entry;
  entry.input = fmt::format("{}\n{}", identity_, request.input);
  const auto find = [&]() -> std::optional<codegen::CodeObject> {
    if (const std::optional<std::string> bytes = store_.find(entry.input))
      return decode_kept(*bytes, request.lines, tasks.size());
    return std::nullopt;
  };
  if (std::optional<codegen::CodeObject> object = find()) return std::move(*object);
  const Turn turn(*this, entry.input);
  if (turn.waited())
    if (std::optional<codegen::CodeObject> object = find()) return std::move(*object);
  const auto begin = std::chrono::steady_clock::now();
  codegen::CodeObject object = generator_().compile(kernel, tasks, target);
  entry.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  entry.label = fmt::format("{} for {}:{}", kernel.name, target.format, target.cpu);
  entry.code = encode_kept(object, request.lines);
  store_.add(entry);
  return object;
}

std::string CachedCompiler::emit_text(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                      const codegen::Target& target, std::string_view what) {
  return generator_().emit_text(kernel, tasks, target, what);
}

codegen::Compiler& cached_compiler() {
  return current();
}

cache::Store* cache_store() {
  cache::Store& store = current().store();
  return store.settings().folder.empty() ? nullptr : &store;
}

}  // namespace weir::compilation
