// SPDX-License-Identifier: Apache-2.0
// Profiles: the time and stream of each task of a launch, totals of a run, and traces for viewers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weir/device.hpp>
#include <weir/export.hpp>

namespace weir {

namespace detail {
struct ProfileState;
}

/// When one task ran. Times are the device's, in nanoseconds since the first task of the profile began.
struct TaskTime {
  std::string kernel;  ///< or "copy" or "fill"
  /// Its symbol in the code object. A merged task adds the lines of its loops in brackets. Of a copy, where
  /// to: "to the device", "to the host", "on the device", "between devices".
  std::string task;
  std::uint32_t stream = 0;  ///< number of the stream on its device; leased streams are numbered too
  std::int32_t region = -1;  ///< region of the kernel or task list, -1 outside
  std::int32_t block = -1;   ///< stream block of the region, -1 outside
  double start = 0;
  double duration = 0;
  /// Estimate of the task's memory traffic: the loaded and the stored elements of each array, each at most
  /// the whole array. Conditional accesses count as executed, and an access in an inner loop counts as the
  /// whole array. 0 if unknown, as for kernels of a Module. Of copies and fills, the bytes that are read and
  /// written on the device.
  std::uint64_t bytes = 0;
};

/// Figures of all runs of one task. Times are in nanoseconds.
struct TaskSummary {
  std::string kernel;
  std::string task;
  std::size_t runs = 0;
  double total = 0;
  double median = 0;  ///< with an even number of runs, the mean of the two in the middle
  double shortest = 0, longest = 0;
  std::uint64_t bytes = 0;  ///< of all runs, see TaskTime::bytes

  double mean() const noexcept { return runs ? total / static_cast<double>(runs) : 0; }
  /// Bytes per nanosecond, which are gigabytes per second; 0 if unknown.
  double rate() const noexcept { return total > 0 ? static_cast<double>(bytes) / total : 0; }
};

/// Figures of a profile. Times are in nanoseconds.
struct ProfileSummary {
  std::vector<TaskSummary> tasks;  ///< the largest total first
  std::size_t runs = 0;            ///< of all tasks
  double busy = 0;                 ///< sum of all durations
  double span = 0;                 ///< from the beginning of the first task to the end of the last

  /// Mean number of tasks that ran at the same time; below 1 if the device was idle in between.
  double concurrency() const noexcept { return span > 0 ? busy / span : 0; }
};

/// Groups the times by kernel and task.
WEIR_API ProfileSummary summarize(std::span<const TaskTime> times);

/// A table with one line per task: its share of the total, runs, total, median, and rate.
WEIR_API std::string to_string(const ProfileSummary& summary);

/// The times in Chrome's trace format, with one row per stream. chrome://tracing and
/// [Perfetto](https://ui.perfetto.dev) show it.
WEIR_API std::string chrome_trace(std::span<const TaskTime> times, std::string_view title);

/// Writes chrome_trace() to a file, replacing its contents. Throws Error{system} if it cannot be written.
WEIR_API void write_trace(const std::filesystem::path& path, std::span<const TaskTime> times,
                          std::string_view title);

namespace detail {
/// The events of a trace: one group of rows with a title. Several are joined by commas.
WEIR_API std::string trace_events(std::span<const TaskTime> times, std::string_view title,
                                  std::uint32_t group);
WEIR_API void write_trace_file(const std::filesystem::path& path, std::string_view events);
}  // namespace detail

/// While it lives, every task that this thread submits to `device` is timed with two events on the task's own
/// stream: tasks of kernels, and copies and fills of arrays. A profile costs two records per task and no
/// synchronisation. Profiles nest; the innermost one of the device records. A profile belongs to the thread
/// that made it; results() may be called from any thread.
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
  /// all. Throws the driver's error if it failed to time a task that it ran.
  std::vector<TaskTime> results() const;

  /// summarize(results()).
  ProfileSummary summary() const;

  /// Writes results() as a trace, see write_trace() above. The title names the device.
  void write_trace(const std::filesystem::path& path) const;

  /// Tasks timed so far, finished or not.
  std::size_t size() const noexcept;

 private:
  std::unique_ptr<detail::ProfileState> state_;
};

/// Calls `work()`, waits for all work of the device, and returns the figures of the tasks that this thread
/// submitted. Throws as `work` does, as Profile does, and Error for a failure of the device.
template <class Work>
ProfileSummary profile(const Device& device, Work&& work) {
  Profile profile(device);
  std::forward<Work>(work)();
  profile.stop();
  device.synchronize();
  return profile.summary();
}

}  // namespace weir
