// SPDX-License-Identifier: Apache-2.0
// For programs whose results are read from standard output: a full disk, a limit of file sizes or a closed
// pipe is a failure.
//
//   int main(int argc, char** argv) {
//     weir::sdk::hold_standard_descriptors();
//     weir::sdk::ignore_file_size_signal();
//     return weir::sdk::check_standard_output("my-program", run(argc, argv));
//   }
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace weir::sdk {

/// Opens descriptors 0 to 2 if the caller closed them, so that no file or driver gets these numbers. Reading
/// and writing them still fails. Must be called first.
inline void hold_standard_descriptors() noexcept {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0 && errno == EBADF) {
      const int opened = ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
      if (opened >= 0 && opened != number) close(opened);
    }
}

/// Lets writes beyond RLIMIT_FSIZE fail, whose signal ends the process by default. For programs; a library
/// must not change the disposition of a signal (see file_size_signal.hpp).
inline void ignore_file_size_signal() noexcept {
  signal(SIGXFSZ, SIG_IGN);
}

/// Flushes standard output. If a write failed, prints a message that begins with `program`, and returns 1
/// instead of a `status` of 0. Must be called last.
inline int check_standard_output(const char* program, int status) noexcept {
  errno = 0;
  bool complete = static_cast<bool>(std::cout.flush());
  if (std::fflush(stdout) != 0) complete = false;
  const int reason = errno;
  if (std::ferror(stdout)) complete = false;
  // Network file systems and quotas report some failures only on close. A duplicate descriptor is closed,
  // because destructors may still print.
  int late = 0;
  if (const int copy = complete ? dup(STDOUT_FILENO) : -1; copy >= 0 && close(copy) != 0) late = errno;
  if (complete && late == 0) return status;
  int number = late != 0 ? late : reason;
  // The errno of an earlier failure is lost. Another write fails with the same one.
  if (number == 0 && write(STDOUT_FILENO, "\n", 1) < 0) number = errno;
  std::fprintf(stderr,
               "%s: standard output could not be written%s%s; check the disk or the program that reads it\n",
               program, number != 0 ? ": " : "", number != 0 ? std::strerror(number) : "");
  return status != 0 ? status : 1;
}

}  // namespace weir::sdk
