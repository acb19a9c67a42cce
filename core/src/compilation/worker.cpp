// SPDX-License-Identifier: Apache-2.0
#include "compilation/worker.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#include "compilation/protocol.hpp"
#include "compilation/request.hpp"

namespace weir::compilation {
namespace {

constexpr Clock::time_point never = Clock::time_point::max();

Reply perform(codegen::Compiler& compiler, const Request& request) {
  std::vector<const ir::Task*> tasks;
  for (const ir::Task& task : request.tasks) tasks.push_back(&task);
  if (request.text) return {compiler.emit_text(request.kernel, tasks, request.target, *request.text)};
  return {compiler.compile(request.kernel, tasks, request.target)};
}

Reply answer(Library& library, const std::string& bytes) {
  Request request;
  const auto failed = [&](const std::string& reason) {
    // LLVM is compiled without exceptions, so an exception through LLVM does not release locks and memory.
    return Reply{
        Error(ErrorCode::compile, "kernel '" + request.kernel.name + "': " + reason, request.kernel.name, {}),
        true};
  };
  try {
    codegen::Compiler* const compiler = library.open();
    if (!compiler) return {MissingGenerator(library.problem())};
    request = decode_request(bytes);
    return perform(*compiler, request);
  } catch (const Error& error) {
    return {error};
  } catch (const std::bad_alloc&) {
    return failed(
        "the code generator has run out of memory; free memory, or raise the limit of the process or its "
        "container");
  } catch (const std::exception& error) {
    return failed(std::string("the code generator failed: ") + error.what());
  }
}

/// Gives the heap of this process large pages, if the system has them. Compiling a small kernel uses 3 MB, and the
/// first use of each of 800 small pages takes longer than of two large ones.
void use_large_pages() {
  constexpr std::size_t page = std::size_t{2} << 20, heap = 2 * page;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc would choose in the course of time
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  void* const block = std::malloc(page + heap);
  if (!block) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = (begin + page - 1) / page * page;
  madvise(reinterpret_cast<void*>(first), heap, MADV_HUGEPAGE);
  // The block keeps the memory before the first large page, unused; the rest returns to the heap.
  constexpr std::size_t header = 32;
  [[maybe_unused]] void* const kept = std::realloc(block, std::max(first - begin, 2 * header) - header);
}

/// Discards the output of earlier compilations, so that the remaining output explains the end of this one.
void clear_words() {
  if (ftruncate(STDERR_FILENO, 0) == 0) lseek(STDERR_FILENO, 0, SEEK_SET);
}

}  // namespace

void work(Library& library, int socket, std::chrono::milliseconds idle) {
  use_large_pages();
  for (;;) {
    if (wait_readable(socket, Clock::now() + idle) != Transfer::done) _exit(0);
    std::string bytes;
    if (receive_message(socket, bytes, never) != Transfer::done) _exit(0);
    clear_words();
    const Reply reply = answer(library, bytes);
    if (send_message(socket, encode_reply(reply), never) != Transfer::done || reply.last) _exit(0);
  }
}

}  // namespace weir::compilation
