// SPDX-License-Identifier: Apache-2.0
// Hooks for timing task submission.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

/// Name of a task in a profile.
struct TaskLabel {
  const std::string* kernel;  ///< interned
  std::string_view task;      ///< copied only if a profile is active
  std::int32_t region = -1;
  std::int32_t block = -1;
};

struct ProfileState {
  explicit ProfileState(DeviceState& device_) : device(device_) {}
  ~ProfileState();

  /// Records the beginning and the end of a task on its stream; work submitted in between is the task.
  void begin(StreamState& stream, const TaskLabel& label, std::uint64_t bytes);
  /// Does not throw, because the task is submitted: its caller would take it for one that is not. A failure
  /// is thrown by Profile::results().
  void end(StreamState& stream) noexcept;

  struct TimedTask {
    const std::string* kernel;
    const std::string* task;
    std::int32_t region, block;
    std::uint32_t stream;
    std::uint64_t bytes;
    EventState* start;
    EventState* end;  ///< null when the task could not be submitted
  };

  DeviceState& device;
  ProfileState* previous = nullptr;  ///< the enclosing profile of this thread, of any device
  mutable std::mutex mutex;          ///< shared by the submitting thread and readers
  std::vector<TimedTask> tasks;
  std::exception_ptr failure;  ///< the first one of end()
};

/// The innermost profile of this thread.
inline thread_local constinit ProfileState* innermost_profile = nullptr;

/// The active profile for tasks of `device`, or null. Costs one load when no profile is active.
inline ProfileState* profile_of(const DeviceState& device) noexcept {
  ProfileState* profile = innermost_profile;
  while (profile && &profile->device != &device) profile = profile->previous;
  return profile;
}

/// Submits one task to `stream` by `submit()`; timed when a profile is active. `bytes()` is called for
/// profiles only and returns the task's memory traffic, 0 if unknown.
template <class Submit, class Bytes>
void submit_timed(StreamState& stream, const TaskLabel& label, Submit&& submit, Bytes&& bytes) {
  ProfileState* profile = profile_of(stream.device);
  if (!profile) [[likely]]
    return submit();
  profile->begin(stream, label, bytes());
  submit();
  profile->end(stream);
}
/// For kernels without access information.
template <class Submit>
void submit_timed(StreamState& stream, const TaskLabel& label, Submit&& submit) {
  submit_timed(stream, label, std::forward<Submit>(submit), [] { return std::uint64_t{0}; });
}

}  // namespace weir::detail
