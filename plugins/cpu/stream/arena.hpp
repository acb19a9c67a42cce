// SPDX-License-Identifier: Apache-2.0
// The oneTBB arena in which all work runs.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

namespace weir::cpu {

class Arena {
 public:
  /// `helpers`: TBB's threads that may join; `entrants`: reserved places for threads of the driver and of the
  /// host.
  Arena(unsigned helpers, unsigned entrants) noexcept : helpers_(helpers), entrants_(entrants) {}

  /// Makes oneTBB's arena; before the other functions. Throws std::bad_alloc. Once oneTBB itself has failed,
  /// calls do nothing, because it waits forever for its initialization that failed: enter() and fork() then
  /// return false.
  void initialize();

  /// Runs `body(context)` on this thread, inside the arena. `body` must not throw. Returns false without
  /// calling it if oneTBB cannot allocate memory for this thread.
  bool enter(void (*body)(void*), void* context) noexcept;

  /// Runs `body(context, i)` once for each i < participants, body(context, 0) on this thread, and returns
  /// true when all have returned. While it waits, this thread runs only other participants of the same call,
  /// so that no other stream's work runs on its stack. `body` must not throw. Returns false if oneTBB cannot
  /// allocate memory: then some participants may not have run, and none is running. Returns false too,
  /// without calling it, while its threads cannot be started, and for ever once they could not for lack of
  /// memory.
  bool fork(unsigned participants, void (*body)(void*, unsigned), void* context) noexcept;

  /// For a thread that is about to fork: waits until a thread has entered, at most a tenth of a second.
  /// forget_thread() does nothing before.
  void wait_for_entrant() const noexcept;

  /// In a child that was just forked: makes oneTBB and its allocator forget that this thread has used them.
  /// Otherwise they take locks for it when the child ends, which another thread of the parent may have held.
  void forget_thread() const noexcept;

 private:
  struct Impl;
  /// Whether oneTBB's threads have started; starts them the first time.
  bool start_helpers() noexcept;
  void make_room() const;

  const unsigned helpers_, entrants_;
  bool tried_ = false;
  std::atomic<bool> started_{false};  ///< start_helpers() was true once
  std::mutex starting_;
  std::chrono::steady_clock::time_point next_try_{};  ///< guarded by starting_
  Impl* impl_ = nullptr;  // never freed: threads may still be inside when the process ends
};

}  // namespace weir::cpu
