// SPDX-License-Identifier: Apache-2.0
// The oneTBB arena in which all work runs.
#pragma once

#include <memory>

namespace weir::cpu {

class Arena {
 public:
  /// `helpers`: TBB's threads that may join; `entrants`: reserved places for threads of the driver and of the
  /// host.
  Arena(unsigned helpers, unsigned entrants);

  /// Runs `body(context)` on this thread, inside the arena.
  void enter(void (*body)(void*), void* context);

  /// Runs `body(context, i)` once for each i < participants, body(context, 0) on this thread, and returns
  /// when all have returned. While it waits, this thread runs only other participants of the same call, so
  /// that no other stream's work runs on its stack.
  void fork(unsigned participants, void (*body)(void*, unsigned), void* context);

 private:
  struct Impl;
  Impl* impl_;  // never freed: threads may still be inside when the process ends
};

}  // namespace weir::cpu
