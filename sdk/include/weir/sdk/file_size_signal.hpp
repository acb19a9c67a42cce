// SPDX-License-Identifier: Apache-2.0
// Writing files without the signal of a file size limit. A write beyond RLIMIT_FSIZE raises SIGXFSZ, which by
// default ends the process. A library must let the write fail instead:
//
//   const sdk::FileSizeSignalBlocked blocked;
//   if (write(file, bytes, size) < 0) ...  // EFBIG
//
// write_all() does so for all bytes.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>

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

/// Writes all bytes. False with errno set on failure, with EFBIG beyond the limit of file sizes, whose signal
/// is blocked.
inline bool write_all(int file, std::string_view bytes) noexcept {
  const FileSizeSignalBlocked blocked;
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace weir::sdk
