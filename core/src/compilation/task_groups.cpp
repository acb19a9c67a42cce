// SPDX-License-Identifier: Apache-2.0
#include "compilation/task_groups.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>
#include <weir/sdk/thread.hpp>

namespace weir::compilation {
namespace {

std::size_t statements_of(const ir::Block& block) {
  std::size_t count = block.statements.size();
  for (const ir::Statement& statement : block.statements)
    for (const ir::Block& body : statement.bodies) count += statements_of(body);
  return count;
}

/// Helpers of all calls in this process. Kernels that are compiled at the same time share the processors.
std::atomic<std::size_t> all_helpers{0};

void forget_helpers_in_child() {
  all_helpers.store(0);
}

bool take_helper(std::size_t max_helpers) {
  // No static variable with a guard: the process may be forked while another thread holds the guard.
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, forget_helpers_in_child);
  std::size_t running = all_helpers.load();
  while (running < max_helpers)
    if (all_helpers.compare_exchange_weak(running, running + 1)) return true;
  return false;
}

/// Up to `max_helpers` threads, and up to one per processor in the process. Fewer when the system refuses
/// one; the caller does its share of the work anyway.
class Helpers {
 public:
  template <class Work>
  Helpers(std::size_t max_helpers, std::size_t processors, const Work& work) {
    threads_.reserve(max_helpers);
    while (threads_.size() < max_helpers && take_helper(processors)) try {
        threads_.push_back(sdk::start_thread("weir-compile", work));
      } catch (...) {  // no more threads or no memory
        --all_helpers;
        break;
      }
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() {
    for (std::thread& thread : threads_) {
      thread.join();
      --all_helpers;
    }
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace

std::vector<TaskGroup> task_groups(TaskGroup tasks) {
  std::vector<TaskGroup> groups;
  std::size_t begin = 0, statements = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    statements += statements_of(tasks[i]->body);
    if (statements < group_statements && i + 1 < tasks.size()) continue;
    groups.push_back(tasks.subspan(begin, i + 1 - begin));
    begin = i + 1;
    statements = 0;
  }
  return groups;
}

std::vector<codegen::CodeObject> compile_groups(codegen::Compiler& compiler, const ir::Kernel& kernel,
                                                std::span<const TaskGroup> groups,
                                                const codegen::Target& target) {
  std::vector<codegen::CodeObject> objects(groups.size());
  std::vector<std::exception_ptr> errors(groups.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    for (std::size_t i; !failed && (i = next++) < groups.size();) try {
        objects[i] = compiler.compile(kernel, groups[i], target);
      } catch (...) {
        errors[i] = std::current_exception();
        failed = true;
      }
  };
  {
    std::optional<Helpers> helpers;
    if (groups.size() > 1) {  // glibc opens a file to count the processors
      const std::size_t processors = std::max(std::thread::hardware_concurrency(), 1u);
      helpers.emplace(std::min(groups.size(), processors) - 1, processors, work);
    }
    work();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return objects;
}

}  // namespace weir::compilation
