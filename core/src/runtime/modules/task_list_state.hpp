// SPDX-License-Identifier: Apache-2.0
// State of a TaskList.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>
#include <weir/task_list.hpp>

#include "runtime/launch/executor.hpp"
#include "runtime/modules/module_state.hpp"

namespace weir::detail {

struct TaskListState {
  struct Task {
    std::shared_ptr<const KernelState> kernel;
    LaunchShape shape;
    std::size_t arguments;            // offset in argument_bytes
    std::size_t first_array, arrays;  // in argument_arrays
  };
  explicit TaskListState(DeviceState& device_) : device(device_) {}

  DeviceState& device;
  std::vector<Task> tasks;
  std::vector<TaskPlace> places;
  std::vector<PlacedTask> placed;
  std::set<std::int32_t> regions;
  std::size_t region_begin = 0;               // first task of the last task's region
  std::vector<AnyArrayView> arrays;           // each once
  std::vector<AnyArrayView> argument_arrays;  // by task
  std::vector<std::byte> argument_bytes;
};

}  // namespace weir::detail
