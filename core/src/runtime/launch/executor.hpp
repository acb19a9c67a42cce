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

/// Converts regions and block numbers to branches. Blocks without tasks get no branch; a region with one
/// block is not forked. Throws Error{invalid} when a region is entered again after its end, or a block is
/// negative.
std::vector<PlacedTask> place_tasks(std::span<const TaskPlace> places);

/// Walks a list. `target` has fork(branch_count), task(index, branch) and join(). The regions of `in_order`
/// (see launch_model.hpp) are not forked: their tasks are in branch 0, one block after the other.
template <class Target>
void walk(std::span<const PlacedTask> tasks, std::uint64_t in_order, Target& target) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const bool alone = runs_in_order(tasks[i], in_order);
    if (tasks[i].fork && !alone) target.fork(tasks[i].fork);
    target.task(i, alone ? 0 : tasks[i].branch);
    if (tasks[i].join && !alone) target.join();
  }
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

/// Walks `tasks` over streams and events; `submit(index, stream)` submits one task. The submission lock must
/// be held.
template <class Submit>
void run_on_streams(StreamState& caller, std::span<const PlacedTask> tasks, std::uint64_t in_order,
                    Submit&& submit) {
  struct Target {
    StreamFork streams;
    Submit& submit;
    void fork(std::uint32_t branch_count) { streams.fork(branch_count); }
    void task(std::size_t index, std::uint32_t branch) { submit(index, streams.stream(branch)); }
    void join() { streams.join(); }
  } target{StreamFork(caller), submit};
  walk(tasks, in_order, target);
}

inline weir_launch make_launch(weir_kernel kernel, const LaunchShape& shape, const void* arguments,
                               std::uint32_t argument_bytes) noexcept {
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
