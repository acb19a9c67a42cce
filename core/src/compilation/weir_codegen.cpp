// SPDX-License-Identifier: Apache-2.0
// weir-codegen IDLE_MILLISECONDS: compiles kernels for the process at the other end of descriptor 3
// (handshake.hpp). libweir starts it (generator.hpp).
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "compilation/handshake.hpp"
#include "compilation/supervisor.hpp"
#include "compilation/detached_process.hpp"

int main(int count, char** words) {
  using namespace weir::compilation;
  int type = 0;
  socklen_t size = sizeof type;
  if (count != 2 || getsockopt(helper_socket_descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs("weir-codegen is started by libweir to compile kernels; use `weir compile`\n", stderr);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  // One byte instead of zero: for zero, a system that pipes dumps to a program still runs it.
  const rlimit no_core{1, 1};
  setrlimit(RLIMIT_CORE, &no_core);

  const std::string_view first = greeting();
  if (send(helper_socket_descriptor, first.data(), first.size(), 0) < 0) _exit(1);
  std::error_code error;
  Library library(std::filesystem::read_symlink("/proc/self/exe", error));
  supervise(library, helper_socket_descriptor, std::chrono::milliseconds(std::atoll(words[1])));
  _exit(0);
}
