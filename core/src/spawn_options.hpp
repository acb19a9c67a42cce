// SPDX-License-Identifier: Apache-2.0
// The attributes of this process that a helper program inherits.
#pragma once

#include <spawn.h>

namespace weir {

/// Arguments of posix_spawn() for a helper program: /dev/null as its standard streams, one descriptor of this
/// process, and no blocked or ignored signals. It has a process group of its own, because signals from a
/// terminal are for the program's group.
class SpawnOptions {
 public:
  /// The helper receives `given`, which must not be a standard stream, as descriptor `number`. Throws
  /// std::bad_alloc.
  SpawnOptions(int given, int number);
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;
  ~SpawnOptions();

  /// The helper receives no descriptor from `first` on. Throws std::bad_alloc.
  void close_from(int first);

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  SpawnOptions();

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace weir
