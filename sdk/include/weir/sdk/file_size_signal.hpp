// SPDX-License-Identifier: Apache-2.0
// Writing files without the signal of a file size limit. A write beyond RLIMIT_FSIZE raises SIGXFSZ, which by
// default ends the process. A library must let the write fail instead:
//
//   const sdk::FileSizeSignalBlocked blocked;
//   if (write(file, bytes, size) < 0) ...  // EFBIG
#pragma once

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace weir::sdk {

/// Blocks SIGXFSZ for this thread, and discards one that its writes raised. A SIGXFSZ that was already
/// pending stays pending. Keeps errno.
class FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked() noexcept {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  FileSizeSignalBlocked(const FileSizeSignalBlocked&) = delete;
  FileSizeSignalBlocked& operator=(const FileSizeSignalBlocked&) = delete;
  ~FileSizeSignalBlocked() {
    const int error = errno;
    constexpr timespec at_once{};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t signal_, before_;
  bool was_pending_;
};

}  // namespace weir::sdk
