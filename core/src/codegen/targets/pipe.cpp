// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/pipe.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>
#include <weir/error.hpp>

namespace weir::codegen {

/// All pipes of the process. A forked child closes them: its copy of a writing end would block the parent's
/// reader.
struct OpenPipes {
  static OpenPipes& get() {
    static OpenPipes* const pipes = [] {
      auto* made = new OpenPipes;  // never destroyed: threads may still compile while the process exits
      pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                     [] { get().close_in_child(); });
      return made;
    }();
    return *pipes;
  }

  void close_in_child() noexcept {
    for (Pipe* pipe = first; pipe; pipe = pipe->next_)
      for (int& end : pipe->ends_)
        if (end >= 0) ::close(std::exchange(end, -1));
    mutex.unlock();
  }

  void remove(const Pipe& pipe) noexcept {
    for (Pipe** at = &first; *at; at = &(*at)->next_)
      if (*at == &pipe) {
        *at = pipe.next_;
        return;
      }
  }

  std::mutex mutex;
  Pipe* first = nullptr;
};

Pipe::Pipe() {
  OpenPipes& pipes = OpenPipes::get();
  const std::lock_guard lock(pipes.mutex);
  if (::pipe2(ends_, O_CLOEXEC) != 0)
    throw Error(ErrorCode::compile,
                std::string("linking a kernel: cannot make a pipe: ") + std::strerror(errno));
  next_ = pipes.first;
  pipes.first = this;
}

Pipe::~Pipe() {
  close(reading);
  close(writing);
  OpenPipes& pipes = OpenPipes::get();
  const std::lock_guard lock(pipes.mutex);
  pipes.remove(*this);
}

void Pipe::do_not_block(End end) noexcept {
  ::fcntl(ends_[end], F_SETFL, O_NONBLOCK);
}

void Pipe::close(End end) noexcept {
  const std::lock_guard lock(OpenPipes::get().mutex);
  if (ends_[end] >= 0) ::close(std::exchange(ends_[end], -1));
}

}  // namespace weir::codegen
