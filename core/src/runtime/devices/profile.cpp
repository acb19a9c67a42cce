// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/profile.hpp"

#include <weir/profile.hpp>

#include "runtime/errors/thrown_copy.hpp"

namespace weir {
namespace detail {
namespace {

void record(EventState& event, StreamState& stream) {
  DeviceState& device = stream.device;
  device.call("time a task", [&](weir_status* status) {
    return device.table().event_record(event.event, stream.stream, status);
  });
  event.recorded.store(true, std::memory_order_release);
  stream.note_submission();
}

/// Nanoseconds from `start` to `end`; false when either is not reached yet.
bool elapsed(DeviceState& device, const EventState& start, const EventState& end, double& nanoseconds) {
  return device.query(nullptr, "read the time of a task", [&](weir_status* status) {
    return device.table().event_elapsed(start.event, end.event, &nanoseconds, status);
  });
}

/// Removes `profile` from this thread's chain, at any position.
void unlink(ProfileState* profile) noexcept {
  for (ProfileState** link = &innermost_profile; *link; link = &(*link)->previous) {
    if (*link == profile) {
      *link = profile->previous;
      return;
    }
  }
}

}  // namespace

ProfileState::~ProfileState() {
  for (const TimedTask& task : tasks) {
    device.events.release(task.start);
    if (task.end) device.events.release(task.end);
  }
}

void ProfileState::begin(StreamState& stream, const TaskLabel& label, std::uint64_t bytes) {
  EventState* start = device.events.acquire(true);
  try {
    std::lock_guard lock(mutex);
    tasks.push_back(
        {label.kernel, intern(label.task), label.region, label.block, stream.slot, bytes, start, nullptr});
  } catch (...) {
    device.events.release(start);
    throw;
  }
  record(*start, stream);
}

void ProfileState::end(StreamState& stream) noexcept {
  EventState* end = nullptr;
  try {
    end = device.events.acquire(true);
    record(*end, stream);
  } catch (...) {
    if (end) device.events.release(end);
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    return;
  }
  const std::lock_guard lock(mutex);
  tasks.back().end = end;
}

}  // namespace detail

using detail::ProfileState;

Profile::Profile(const Device& device) try {
  if (!device.info().has(Capability::timed_events)) {
    throw Error(ErrorCode::unsupported,
                device.name() + " cannot be profiled: its driver '" + device.driver() +
                    "' has no timed events; time the work on the host, between calls of synchronize()");
  }
  state_ = std::make_unique<ProfileState>(*device.state());
  state_->previous = detail::innermost_profile;
  detail::innermost_profile = state_.get();
} catch (...) {
  detail::rethrow_as_error();
}

Profile::~Profile() {
  stop();
}

void Profile::stop() noexcept {
  detail::unlink(state_.get());
}

std::vector<TaskTime> Profile::results() const try {
  std::vector<ProfileState::TimedTask> tasks;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->failure) detail::throw_copy(state_->failure);
    tasks = state_->tasks;
  }
  state_->device.streams.flush_all();
  std::vector<TaskTime> times;
  // Events are compared with one of them, although another task may have begun first.
  const detail::EventState* origin = nullptr;
  double first = 0;
  for (const ProfileState::TimedTask& task : tasks) {
    double start = 0, duration = 0;
    if (!task.end || !detail::elapsed(state_->device, *task.start, *task.end, duration)) continue;
    if (!origin) origin = task.start;
    if (!detail::elapsed(state_->device, *origin, *task.start, start)) continue;
    first = std::min(first, start);
    times.push_back(
        {*task.kernel, *task.task, task.stream, task.region, task.block, start, duration, task.bytes});
  }
  for (TaskTime& time : times) time.start -= first;
  return times;
} catch (...) {
  detail::rethrow_as_error();
}

ProfileSummary Profile::summary() const {
  return summarize(results());
}

void Profile::write_trace(const std::filesystem::path& path) const try {
  const Device device(&state_->device);
  const std::vector<TaskTime> times = results();
  weir::write_trace(path, times, device.name() + " (" + device.info().name + ")");
} catch (...) {
  detail::rethrow_as_error();
}

std::size_t Profile::size() const noexcept {
  std::lock_guard lock(state_->mutex);
  return state_->tasks.size();
}

}  // namespace weir
