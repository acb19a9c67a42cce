// SPDX-License-Identifier: Apache-2.0
// Profiles: when each task of a launch ran, and on which stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <weir/device.hpp>
#include <weir/export.hpp>

namespace weir {

namespace detail {
struct ProfileState;
}

/// When one task ran. Times are the device's, in nanoseconds since the first task of the profile began.
struct TaskTime {
  std::string kernel;
  /// Its symbol in the code object. A merged task adds the lines of its loops in brackets.
  std::string task;
  std::uint32_t stream = 0;  ///< number of the stream on its device; leased streams are numbered too
  std::int32_t region = -1;  ///< region of the kernel or task list, -1 outside
  std::int32_t block = -1;   ///< block of the region, -1 outside
  double start = 0;
  double duration = 0;
};

/// While it lives, every task that this thread submits to `device` is timed with two events on the task's own
/// stream. Nothing waits for them: a profile adds the cost of two records per task and no synchronisation.
/// Profiles nest; the innermost one of the device counts. A profile belongs to the thread that made it;
/// results() may be called from any.
class WEIR_API Profile {
 public:
  /// Throws Error{unsupported} where the driver has no timed events.
  explicit Profile(const Device& device);
  /// Stops the profile. Never waits.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Stops timing further tasks; recorded times can still be read. For the thread that made the profile.
  void stop() noexcept;

  /// The tasks that have finished, in the order of their submission. Does not wait: synchronize first to get
  /// all.
  std::vector<TaskTime> results() const;

  /// Tasks timed so far, finished or not.
  std::size_t size() const noexcept;

 private:
  std::unique_ptr<detail::ProfileState> state_;
};

}  // namespace weir
