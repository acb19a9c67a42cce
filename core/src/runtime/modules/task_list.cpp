// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <weir/task_list.hpp>

#include "runtime/devices/profile.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/modules/task_list_state.hpp"
#include "runtime/streams/submission.hpp"

namespace weir {
using detail::TaskListState;

namespace {
/// Reserves at least doubled capacity, so that repeated growth has constant amortised cost per element.
template <class T>
void grow(std::vector<T>& list, std::size_t size) {
  if (size > list.capacity()) list.reserve(std::max(size, 2 * list.capacity()));
}
}  // namespace

TaskList::TaskList(const Device& device) try : state_(std::make_unique<TaskListState>(*device.state())) {
} catch (...) {
  detail::rethrow_as_error();
}
TaskList::TaskList(TaskList&&) noexcept = default;
TaskList& TaskList::operator=(TaskList&&) noexcept = default;
TaskList::~TaskList() = default;

void TaskList::add(const KernelFunction& function, const LaunchShape& shape,
                   std::span<const KernelArgument> arguments, TaskPlace place) try {
  if (!state_) detail::throw_dead("task list");
  TaskListState& list = *state_;
  if (!function.state()) detail::throw_dead("kernel");
  const detail::KernelState& kernel = *function.state();
  if (&kernel.module->device != &list.device)
    detail::throw_other_device(fmt::format("kernel '{}' is loaded on", kernel.name()), kernel.module->device,
                               "but the task list is for", list.device, "load the module on that device too");
  if (place.region < TaskPlace::none)
    throw Error(
        ErrorCode::invalid,
        fmt::format("task {} belongs to region {}; regions are numbered from 0, and TaskPlace::none is "
                    "outside regions",
                    list.tasks.size(), place.region));
  detail::check_shape(list.device, kernel.name(), shape);
  detail::ArgumentBuffer block(kernel.argument_bytes);
  detail::pack(kernel, arguments, block.data());

  // Operations that can throw come first, so that a rejected task leaves the list unchanged.
  const bool goes_on = place.region >= 0 && !list.places.empty() && list.places.back().region == place.region;
  const std::size_t begin = goes_on ? list.region_begin : list.places.size();
  if (place.region >= 0 && !goes_on && list.regions.contains(place.region))
    throw Error(
        ErrorCode::invalid,
        fmt::format(
            "task {} belongs to region {}, which ended before it; tasks of one region must be consecutive",
            list.tasks.size(), place.region));
  std::vector<TaskPlace> tail(list.places.begin() + static_cast<std::ptrdiff_t>(begin), list.places.end());
  tail.push_back(place);
  const std::vector<detail::PlacedTask> placed = detail::place_tasks(tail);

  const std::size_t arguments_at = list.argument_bytes.size();
  grow(list.tasks, list.tasks.size() + 1);
  grow(list.placed, begin + placed.size());
  grow(list.places, list.places.size() + 1);
  grow(list.arrays, list.arrays.size() + arguments.size());
  grow(list.argument_arrays, list.argument_arrays.size() + arguments.size());
  grow(list.argument_bytes, arguments_at + kernel.argument_bytes);
  if (place.region >= 0) list.regions.insert(place.region);

  for (const KernelArgument& argument : arguments)
    if (argument.is_array() && std::ranges::none_of(list.arrays, [&](const AnyArrayView& view) {
          return view.block() == argument.view().block() && view.generation() == argument.view().generation();
        }))
      list.arrays.push_back(argument.view());
  const std::size_t first_array = list.argument_arrays.size();
  for (const KernelArgument& argument : arguments)
    if (argument.is_array()) list.argument_arrays.push_back(argument.view());
  list.argument_bytes.insert(list.argument_bytes.end(), block.data(), block.data() + kernel.argument_bytes);
  list.tasks.push_back(
      {function.state(), shape, arguments_at, first_array, list.argument_arrays.size() - first_array});
  list.places.push_back(place);
  list.placed.resize(begin);
  list.placed.insert(list.placed.end(), placed.begin(), placed.end());
  list.region_begin = begin;
} catch (...) {
  detail::rethrow_as_error();
}

std::size_t TaskList::size() const noexcept {
  return state_ ? state_->tasks.size() : 0;
}

void TaskList::launch(const StreamRef& on) const try {
  if (!state_) detail::throw_dead("task list");
  const TaskListState& list = *state_;
  detail::StreamState& stream = detail::live(on);
  if (&stream.device != &list.device)
    detail::throw_other_device("the task list is for", list.device, "but the stream is of", stream.device,
                               "make a task list for each device");
  for (const AnyArrayView& array : list.arrays) detail::live(array);
  detail::throw_failure(stream);
  for (const AnyArrayView& array : list.arrays) list.device.memory.use(*array.block(), stream);
  const detail::Submission submission(stream);
  detail::run_on_streams(stream, list.placed, 0, [&](std::size_t index, detail::StreamState& target) {
    const TaskListState::Task& task = list.tasks[index];
    const detail::KernelState& kernel = *task.kernel;
    const std::byte* arguments = list.argument_bytes.data() + task.arguments;
    const TaskPlace& place = list.places[index];
    const bool inside = place.region != TaskPlace::none;
    const detail::TaskLabel label{&kernel.name(), kernel.name(), inside ? place.region : -1,
                                  inside ? place.block : -1};
    detail::submit_timed(target, label, [&] {
      detail::submit_launch(target,
                            detail::make_launch(kernel.kernel, task.shape, arguments, kernel.argument_bytes),
                            kernel.origin);
    });
  });
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
