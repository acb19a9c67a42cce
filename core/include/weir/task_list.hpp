// SPDX-License-Identifier: Apache-2.0
// Task lists: the input of a compiler with its own code generator, in place of a kernel in IR form.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <weir/export.hpp>
#include <weir/module.hpp>
#include <weir/stream.hpp>

namespace weir {

namespace detail {
struct TaskListState;
}

/// The place of a task. Tasks outside regions run in order. Consecutive tasks of one region run in order if
/// their stream blocks' numbers are equal, else concurrently. The region begins after everything before it
/// and ends before everything after it.
struct TaskPlace {
  static constexpr std::int32_t none = -1;
  std::int32_t region = none;  ///< any number from 0; equal and consecutive means the same region
  std::int32_t block = 0;      ///< from 0; ignored outside regions
};

/// An ordered list of kernel launches with the stream blocks they belong to, run any number of times.
/// Building it is for one thread; launch() may be called from several.
class WEIR_API TaskList {
 public:
  explicit TaskList(const Device& device);
  TaskList(TaskList&&) noexcept;
  TaskList& operator=(TaskList&&) noexcept;
  ~TaskList();

  /// Appends a task; its arguments are packed now. Throws as KernelFunction::launch, and Error{invalid} when
  /// the place has a negative stream block or a region that was already left.
  void add(const KernelFunction& kernel, const LaunchShape& shape, std::span<const KernelArgument> arguments,
           TaskPlace place = {});
  void add(const KernelFunction& kernel, const LaunchShape& shape,
           std::initializer_list<KernelArgument> arguments, TaskPlace place = {}) {
    add(kernel, shape, std::span(arguments.begin(), arguments.size()), place);
  }

  std::size_t size() const noexcept;

  /// Submits all tasks and returns without waiting. Blocks beyond the first of a region run on streams of the
  /// device's pool. Throws Error{invalid} if an array was freed or the stream is of another device. If a
  /// launch fails half way, the submitted tasks are still joined into `stream`, and the error is thrown. One
  /// step of the stream (see StreamRef).
  void launch(const StreamRef& stream) const;

  /// For the runtime; null when moved from.
  const detail::TaskListState* state() const noexcept { return state_.get(); }

 private:
  std::unique_ptr<detail::TaskListState> state_;
};

}  // namespace weir
