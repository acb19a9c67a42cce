// SPDX-License-Identifier: Apache-2.0
#include "spawn_options.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <new>

namespace weir {
namespace {

// The calls fail only without memory. An action that was not added would be missing in the helper.
void check(int error) {
  if (error != 0) throw std::bad_alloc();
}

}  // namespace

SpawnOptions::SpawnOptions() {
  posix_spawn_file_actions_init(&actions_);
  posix_spawnattr_init(&attributes_);
}

SpawnOptions::SpawnOptions(int given, int number) : SpawnOptions() {
  check(posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
  check(posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0));
  check(posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0));
  check(posix_spawn_file_actions_adddup2(&actions_, given, number));
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes_, &none);
  posix_spawnattr_setsigdefault(&attributes_, &all);
  posix_spawnattr_setpgroup(&attributes_, 0);
  posix_spawnattr_setflags(&attributes_,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

SpawnOptions::~SpawnOptions() {
  posix_spawn_file_actions_destroy(&actions_);
  posix_spawnattr_destroy(&attributes_);
}

void SpawnOptions::close_from(int first) {
  check(posix_spawn_file_actions_addclosefrom_np(&actions_, first));
}

}  // namespace weir
