// SPDX-License-Identifier: Apache-2.0
// Runs an ordered list of tasks with regions: the walk over the list, and the executor for streams and
// events. Callers (Program, TaskList) pack arguments and submit. The walk is independent of the tasks' type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>
#include <weir/task_list.hpp>

#include "runtime/devices/device_state.hpp"
#include "runtime/modules/module_state.hpp"

namespace weir::detail {

/// Position of a task in the walk. Branch 0 runs on the caller's stream.
struct PlacedTask {
  std::uint32_t branch = 0;
  std::uint32_t fork = 0;    ///< branches of the region that begins before this task; 0 for none
  bool join = false;         ///< the region ends after this task
  std::int32_t region = -1;  ///< of the forked region; see `in_order` of walk
  friend bool operator==(const PlacedTask&, const PlacedTask&) = default;
};

/// True if the task's region is one of `in_order`, bits by region.
inline bool runs_in_order(const PlacedTask& task, std::uint64_t in_order) noexcept {
  return task.region >= 0 && task.region < 64 && in_order >> task.region & 1;
}

/// Converts regions and numbers of stream blocks to branches. Stream blocks without tasks get no branch; a
/// region with one stream block is not forked. Throws Error{invalid} when a region is entered again after its
/// end, or a stream block is negative.
std::vector<PlacedTask> place_tasks(std::span<const TaskPlace> places);

/// Tasks that are submitted several times in a row, all in one branch.
struct RepeatedTasks {
  std::uint32_t begin = 0, end = 0;
};

/// Walks a list. `target` has fork(branch_count), task(index, branch) and join(). The regions of `in_order`
/// (see launch_model.hpp) are not forked: their tasks are in branch 0, one stream block after the other.
///
/// `repeats` are in the order of their first tasks, outer ones before inner ones. Walks each of them as often
/// as `target.repetitions(number)` returns at its begin; `target.repetition(number, i)` announces the i-th
/// time. A list without repeats needs neither.
template <class Target>
class Walk {
 public:
  Walk(std::span<const PlacedTask> tasks, std::span<const RepeatedTasks> repeats, std::uint64_t in_order,
       Target& target)
      : tasks_(tasks), repeats_(repeats), in_order_(in_order), target_(target) {}

  void run() {
    std::size_t repeat = 0;
    for (std::size_t i = 0; i < tasks_.size();) {
      const std::size_t first = i;
      if (tasks_[first].fork && !alone(first)) target_.fork(tasks_[first].fork);
      i = step(i, repeat);
      if (tasks_[i - 1].join && !alone(i - 1)) target_.join();
    }
  }

 private:
  bool alone(std::size_t i) const { return runs_in_order(tasks_[i], in_order_); }

  /// Task `i`, or the repeat that begins there; `repeat` is the next one. Returns the task after it.
  std::size_t step(std::size_t i, std::size_t& repeat) {
    if constexpr (requires { target_.repetitions(std::size_t{}); }) {
      if (repeat < repeats_.size() && repeats_[repeat].begin == i) {
        const std::size_t number = repeat++;
        const std::size_t inner = repeat, end = repeats_[number].end;
        const std::int64_t count = target_.repetitions(number);
        for (std::int64_t k = 0; k < count; ++k) {
          target_.repetition(number, k);
          repeat = inner;
          for (std::size_t at = i; at < end;) at = step(at, repeat);
        }
        while (repeat < repeats_.size() && repeats_[repeat].begin < end) ++repeat;
        return end;
      }
    }
    target_.task(i, alone(i) ? 0 : tasks_[i].branch);
    return i + 1;
  }

  std::span<const PlacedTask> tasks_;
  std::span<const RepeatedTasks> repeats_;
  std::uint64_t in_order_;
  Target& target_;
};

template <class Target>
void walk(std::span<const PlacedTask> tasks, std::uint64_t in_order, Target& target,
          std::span<const RepeatedTasks> repeats = {}) {
  Walk<Target>(tasks, repeats, in_order, target).run();
}

/// Forks by one event of the caller's stream that every leased stream waits for, and joins by one event of
/// each leased stream that the caller waits for. Never waits on the host. After an exception the submitted
/// work is still joined. The owner holds the caller's submission lock from fork to join.
class StreamFork {
 public:
  explicit StreamFork(StreamState& caller) noexcept : caller_(caller) {}
  StreamFork(const StreamFork&) = delete;
  StreamFork& operator=(const StreamFork&) = delete;
  ~StreamFork();

  void fork(std::uint32_t branch_count);
  void join();
  /// If there are more branches than leased streams, branches share streams round-robin.
  StreamState& stream(std::uint32_t branch) noexcept {
    const std::uint32_t place = leased_ ? branch % (leased_ + 1) : 0;
    return place == 0 ? caller_ : *leased_streams_[place - 1];
  }

 private:
  StreamState& caller_;
  std::array<StreamState*, StreamManager::max_leased> leased_streams_;
  std::uint32_t leased_ = 0;
};

/// The repeats of a list that has none.
struct NoRepeats {
  std::span<const RepeatedTasks> tasks() const noexcept { return {}; }
  std::int64_t repetitions(std::size_t) const noexcept { return 0; }
  void repetition(std::size_t, std::int64_t) const noexcept {}
};

/// Submits tasks to the streams of their branches, for walk(). `submit` and `repeats` are as in
/// run_on_streams.
template <class Submit, class Repeats>
class StreamSubmitter : public Repeats {
 public:
  StreamSubmitter(StreamState& caller, Submit& submit, const Repeats& repeats)
      : Repeats(repeats), streams_(caller), submit_(submit) {}

  void fork(std::uint32_t branch_count) { streams_.fork(branch_count); }
  void task(std::size_t index, std::uint32_t branch) { submit_(index, streams_.stream(branch)); }
  void join() { streams_.join(); }

 private:
  StreamFork streams_;
  Submit& submit_;
};

/// Walks `tasks` over streams and events; `submit(index, stream)` submits one task. The submission lock must
/// be held. `repeats` is as NoRepeats.
template <class Submit, class Repeats = NoRepeats>
void run_on_streams(StreamState& caller, std::span<const PlacedTask> tasks, std::uint64_t in_order,
                    Submit&& submit, Repeats repeats = {}) {
  StreamSubmitter submitter(caller, submit, repeats);
  walk(tasks, in_order, submitter, repeats.tasks());
}

inline weir_launch make_launch(weir_kernel kernel, const LaunchShape& shape, const void* arguments,
                               std::uint32_t argument_bytes, std::uint32_t flags = 0) noexcept {
  weir_launch launch{};
  launch.struct_size = sizeof launch;
  launch.grid[0] = shape.grid.x;
  launch.grid[1] = shape.grid.y;
  launch.grid[2] = shape.grid.z;
  launch.block[0] = shape.block.x;
  launch.block[1] = shape.block.y;
  launch.block[2] = shape.block.z;
  launch.dynamic_shared_bytes = shape.shared_bytes;
  launch.argument_bytes = argument_bytes;
  launch.kernel = kernel;
  launch.arguments = arguments;
  launch.flags = flags;
  return launch;
}

/// Storage for one argument block on the stack; blocks larger than any common device's limit use the heap.
class ArgumentBuffer {
 public:
  explicit ArgumentBuffer(std::size_t bytes) {
    if (bytes > sizeof inline_) heap_ = std::make_unique<std::byte[]>(bytes);
  }
  std::byte* data() noexcept { return heap_ ? heap_.get() : inline_; }

 private:
  alignas(16) std::byte inline_[4096];
  std::unique_ptr<std::byte[]> heap_;
};

}  // namespace weir::detail
