// SPDX-License-Identifier: Apache-2.0
// Programs that are compiled in the background.
//
// Threads start with the first job and end with the last, at most one per processor. Each compiles as a
// launch does (compiled_for in program_state.hpp), so a launch that needs the code waits for it.
//
// The end of the process waits for driver calls of these threads, not for code generation, which may take
// minutes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::detail {

struct DeviceState;
struct ProgramState;

/// Shared by the handles and the jobs of one call of prepare().
struct PreparationState {
  std::vector<DeviceState*> devices;
  std::mutex mutex;  ///< guards `error` and each decrement of `jobs`
  std::condition_variable ended;
  std::atomic<std::size_t> jobs{0};  ///< that have not ended
  std::exception_ptr error;          ///< the first
};

/// Adds a job for each device. The devices must be open. Without threads, the jobs run before this returns.
std::shared_ptr<PreparationState> prepare_in_background(const std::shared_ptr<ProgramState>& program,
                                                        std::vector<DeviceState*> devices);

/// Called by the exit handler when destructors no longer call drivers. Jobs that have not begun fail. Waits
/// until no background thread is in a driver call, and not beyond `until`. No thread begins another one.
void end_preparations(std::optional<std::chrono::steady_clock::time_point> until) noexcept;

/// Called in the child of a fork, which has no background threads.
void forget_preparations() noexcept;

/// The end of the process does not wait for this background thread from now on. No effect on other threads.
void leave_driver() noexcept;
/// Ends the effect of leave_driver(). Throws Error{system} if the process is ending; the thread must not call
/// drivers then.
void return_to_driver();

/// Calls `work`, which calls no driver, and returns its result.
template <class Work>
auto away_from_driver(const Work& work) {
  leave_driver();
  std::optional<std::invoke_result_t<Work>> result;
  try {
    result = work();
  } catch (...) {
    return_to_driver();
    throw;
  }
  return_to_driver();
  return std::move(*result);
}

}  // namespace weir::detail
