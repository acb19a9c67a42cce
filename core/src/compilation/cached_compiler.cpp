// SPDX-License-Identifier: Apache-2.0
#include "compilation/cached_compiler.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "compilation/cache_policy.hpp"
#include "compilation/canonical_request.hpp"
#include "compilation/remote_compiler.hpp"
#include "compilation/request.hpp"
#include "compilation/source_lines.hpp"

namespace weir::compilation {
namespace {

/// The contents of an entry: the hash of the source lines in the code, then the code generator's reply.
std::string encode(const codegen::CodeObject& object, std::uint64_t lines) {
  std::string bytes(reinterpret_cast<const char*>(&lines), sizeof lines);
  return bytes + encode_reply({object});
}

std::optional<codegen::CodeObject> decode(const std::string& bytes, std::uint64_t lines,
                                          std::size_t tasks) try {
  std::uint64_t stored_lines = 0;
  if (bytes.size() < sizeof stored_lines) return std::nullopt;
  std::memcpy(&stored_lines, bytes.data(), sizeof stored_lines);
  Reply reply = decode_reply(std::string_view(bytes).substr(sizeof stored_lines));
  auto* const object = std::get_if<codegen::CodeObject>(&reply.value);
  if (!object || object->entries.size() != tasks) return std::nullopt;
  if (stored_lines != lines) remove_source_lines(*object);
  return std::move(*object);
} catch (const Error&) {
  return std::nullopt;
}

std::atomic<CachedCompiler*> current_cached{nullptr};

void drop_in_forked_child() {
  // Never destroyed: another thread of the parent may have held its lock at the fork.
  current_cached.store(nullptr);
}

}  // namespace

codegen::CodeObject CachedCompiler::compile(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                            const codegen::Target& target) {
  // Which processor "native" is depends on the machine.
  if (store_.settings().folder.empty() || target.cpu == "native")
    return generator_().compile(kernel, tasks, target);
  const CanonicalRequest request = canonical_request(kernel, tasks, target);
  cache::Entry entry;
  entry.input = fmt::format("{}\n{}", identity_, request.input);
  if (const std::optional<std::string> bytes = store_.find(entry.input))
    if (std::optional<codegen::CodeObject> object = decode(*bytes, request.lines, tasks.size()))
      return std::move(*object);
  const auto begin = std::chrono::steady_clock::now();
  codegen::CodeObject object = generator_().compile(kernel, tasks, target);
  entry.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  entry.label = fmt::format("{} for {}:{}", kernel.name, target.format, target.cpu);
  entry.code = encode(object, request.lines);
  store_.add(entry);
  return object;
}

std::string CachedCompiler::emit_text(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                      const codegen::Target& target, std::string_view what) {
  return generator_().emit_text(kernel, tasks, target, what);
}

codegen::Compiler& cached_compiler() {
  if (CachedCompiler* const ready = current_cached.load(std::memory_order_acquire)) return *ready;
  // No static variable with a guard: the process may be forked while another thread holds the guard.
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, drop_in_forked_child);
  auto made = std::make_unique<CachedCompiler>(cache_settings(current_cache_policy()), generator_identity(),
                                               &compiler);
  CachedCompiler* ready = nullptr;
  if (current_cached.compare_exchange_strong(ready, made.get(), std::memory_order_acq_rel)) ready = made.release();
  return *ready;
}

}  // namespace weir::compilation
