// SPDX-License-Identifier: Apache-2.0
#include "compilation/worker.hpp"

#include <unistd.h>

#include <new>
#include <string>

#include "compilation/message.hpp"
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
  codegen::Compiler* const compiler = library.open();
  if (!compiler) return {MissingGenerator(library.problem())};
  Request request;
  const auto failed = [&](const std::string& reason) {
    // LLVM is compiled without exceptions, so an exception through LLVM does not release locks and memory.
    return Reply{
        Error(ErrorCode::compile, "kernel '" + request.kernel.name + "': " + reason, request.kernel.name, {}),
        true};
  };
  try {
    request = decode_request(bytes);
    return perform(*compiler, request);
  } catch (const Error& error) {
    return {error};
  } catch (const std::bad_alloc&) {
    return failed("the code generator has run out of memory");
  } catch (const std::exception& error) {
    return failed(std::string("the code generator failed: ") + error.what());
  }
}

/// Discards the output of earlier compilations, so that the remaining output explains the end of this one.
void clear_words() {
  if (ftruncate(STDERR_FILENO, 0) == 0) lseek(STDERR_FILENO, 0, SEEK_SET);
}

}  // namespace

void work(Library& library, int socket, std::chrono::milliseconds idle) {
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
