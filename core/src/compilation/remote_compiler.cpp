// SPDX-License-Identifier: Apache-2.0
#include "compilation/remote_compiler.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "compilation/library.hpp"
#include "driver/trust/trust.hpp"
#include "ir/printer.hpp"
#include "temporary_file.hpp"

namespace weir::compilation {
namespace {

/// The number of times that a request is sent to another worker, if a worker ended for a reason other than
/// the request.
constexpr int max_retries = 2;

bool ended_without_work(const std::optional<WorkerEnd>& end) {
  return end && WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0;
}

std::string describe(const std::optional<WorkerEnd>& end) {
  if (!end) return "the code generator was ended";
  if (end->status == -1)
    return fmt::format("the code generator could not start a process: {}", strerrordesc_np(end->error));
  std::string words = fmt::format("the code generator ended with status {}", WEXITSTATUS(end->status));
  if (WIFSIGNALED(end->status)) {
    const int signal = WTERMSIG(end->status);
    words = fmt::format("the code generator was ended by signal {} (SIG{}, {})", signal, sigabbrev_np(signal),
                        sigdescr_np(signal));
    if (signal == SIGKILL) words += ", as the system does when memory runs out";
  }
  return end->words[0] ? fmt::format("{}: {}", words, end->words) : words;
}

/// Writes the text form of `kernel` to a new file in the temporary folder, which only this user may read.
/// Returns its path, or "" on failure.
std::string keep_for_report(const ir::Kernel& kernel) {
  const char* const folder = secure_getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/weir-failed-XXXXXX.weir";
  const int file = mkostemps(path.data(), 5, O_CLOEXEC);
  if (file < 0) return "";
  const bool whole = write_all(file, ir::print(kernel, true));
  close(file);
  if (whole) return path;
  unlink(path.c_str());
  return "";
}

Error failure_of(const ir::Kernel& kernel, const codegen::Target& target, const std::string& reason) {
  const std::string kept = keep_for_report(kernel);
  return Error(
      ErrorCode::compile,
      fmt::format("kernel '{}', compiled for {}:{}{}{}: {}{}", kernel.name, target.format, target.cpu,
                  target.features.empty() ? "" : ":", target.features, reason,
                  kept.empty() ? "" : fmt::format("; the kernel's IR is kept in {} for a bug report", kept)),
      kernel.name, {});
}

std::atomic<codegen::Compiler*> current{nullptr};

/// The library's compiler, which is never closed. Threads that call this at once get the same one.
codegen::Compiler& open_in_process(const GeneratorPolicy& policy) {
  if (const std::string why = why_untrusted(policy.program); !why.empty()) throw MissingGenerator(why);
  Library library(policy.program);
  if (codegen::Compiler* const opened = library.open()) return *opened;
  throw MissingGenerator(library.problem());
}

void in_forked_child() {
  // Never destroyed: another thread of the parent may have held its lock at the fork.
  current.store(nullptr);
}

}  // namespace

Reply RemoteCompiler::call(const ir::Kernel& kernel, const codegen::Target& target,
                           const std::string& request) {
  const std::chrono::milliseconds limit = workers_.policy().limit;
  for (int retries = 0;; ++retries) {
    Lease lease(workers_);
    const Clock::time_point until = Clock::now() + limit;
    std::string bytes;
    Transfer moved = lease.worker().send(request, until);
    if (moved == Transfer::done) moved = lease.worker().receive(bytes, until);
    if (moved == Transfer::done) {
      Reply reply = decode_reply(bytes);
      if (!reply.last) lease.keep();
      if (const auto* error = std::get_if<Error>(&reply.value)) throw *error;
      if (const auto* missing = std::get_if<MissingGenerator>(&reply.value)) throw *missing;
      return reply;
    }
    if (moved == Transfer::late) {
      workers_.leave(lease.worker().generator());
      throw failure_of(kernel, target,
                       fmt::format("the code generator did not answer within {} s; WEIR_CODEGEN_LIMIT sets "
                                   "another limit, in seconds",
                                   std::chrono::duration<double>(limit).count()));
    }
    const std::optional<WorkerEnd> end = lease.worker().how_it_ended();
    if (retries < max_retries && (!end || ended_without_work(end))) continue;
    throw failure_of(kernel, target, describe(end));
  }
}

codegen::CodeObject RemoteCompiler::compile(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                            const codegen::Target& target) {
  Reply reply = call(kernel, target, encode_request(kernel, tasks, target, std::nullopt));
  return std::get<codegen::CodeObject>(std::move(reply.value));
}

std::string RemoteCompiler::emit_text(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                      const codegen::Target& target, std::string_view what) {
  Reply reply = call(kernel, target, encode_request(kernel, tasks, target, what));
  return std::get<std::string>(std::move(reply.value));
}

codegen::Compiler& compiler() {
  if (codegen::Compiler* const ready = current.load(std::memory_order_acquire)) return *ready;
  // No static variable with a guard: the process may be forked while another thread holds the guard.
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, in_forked_child);
  GeneratorPolicy policy = current_generator_policy();
  if (policy.in_process) {
    codegen::Compiler& own = open_in_process(policy);
    current.store(&own, std::memory_order_release);
    return own;
  }
  auto made = std::make_unique<RemoteCompiler>(std::move(policy));
  codegen::Compiler* ready = nullptr;
  if (current.compare_exchange_strong(ready, made.get(), std::memory_order_acq_rel)) ready = made.release();
  return *ready;
}

}  // namespace weir::compilation
