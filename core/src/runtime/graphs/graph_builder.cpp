// SPDX-License-Identifier: Apache-2.0
#include <vector>
#include <weir/graph.hpp>

#include "runtime/graphs/graph_state.hpp"
#include "runtime/launch/dense_arguments.hpp"
#include "runtime/launch/launch_parts.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/modules/task_list_state.hpp"
#include "runtime/programs/layouts.hpp"

namespace weir {

using detail::GraphState;
using detail::GraphStep;

namespace {

GraphState& recording(const std::unique_ptr<GraphState>& state) {
  if (!state) detail::throw_dead("graph builder");
  return *state;
}

/// Records the tasks of a list as calls, for walk().
class TaskRecorder {
 public:
  TaskRecorder(GraphState& graph, const detail::TaskListState& list) : graph_(graph), list_(list) {}

  void fork(std::uint32_t branch_count) {
    graph_.steps.push_back({GraphStep::Kind::fork, branch_count});
    in_region_ = true;
  }
  void task(std::size_t index, std::uint32_t branch) {
    if (in_region_) graph_.steps.push_back({GraphStep::Kind::branch, branch});
    const detail::TaskListState::Task& task = list_.tasks[index];
    const auto arguments = list_.argument_bytes.begin() + static_cast<std::ptrdiff_t>(task.arguments);
    const TaskPlace& place = list_.places[index];
    detail::KernelCall call{
        task.kernel, task.shape, {arguments, arguments + task.kernel->argument_bytes}, -1, -1};
    if (place.region != TaskPlace::none) {
      call.region = place.region;
      call.block = place.block;
    }
    const auto arrays = list_.argument_arrays.begin() + static_cast<std::ptrdiff_t>(task.first_array);
    graph_.record({std::move(call), {arrays, arrays + static_cast<std::ptrdiff_t>(task.arrays)}, 1});
  }
  void join() {
    graph_.steps.push_back({GraphStep::Kind::join, 0});
    in_region_ = false;
  }

 private:
  GraphState& graph_;
  const detail::TaskListState& list_;
  bool in_region_ = false;
};

}  // namespace

GraphBuilder::GraphBuilder(const Device& device) try : state_(std::make_unique<GraphState>(*device.state())) {
} catch (...) {
  detail::rethrow_as_error();
}
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;
GraphBuilder::~GraphBuilder() = default;

GraphNode GraphBuilder::launch(const Program& program, std::span<const LaunchArgument> arguments,
                               const LaunchOptions& options) try {
  GraphState& graph = recording(state_);
  if (!program.state()) detail::throw_dead("program");
  const Program placed(detail::for_layouts(program.state(), arguments));
  if (detail::has_strided(arguments)) {
    detail::check_arguments(*placed.state(), graph.device, arguments);
    const auto strided = detail::strided_parameters(arguments);
    return launch(Program(detail::for_layouts(program.state(), arguments, strided)),
                  detail::DenseArguments(arguments, strided).all(), options);
  }
  if (!placed.state()->steps.empty()) {
    detail::check_arguments(*placed.state(), graph.device, arguments);
    detail::record_parts(*placed.state(), *this, arguments, options);
    return {};
  }
  return graph.record(detail::program_call(graph.device, placed, arguments, options));
} catch (...) {
  detail::rethrow_as_error();
}

GraphNode GraphBuilder::launch(const KernelFunction& kernel, const LaunchShape& shape,
                               std::span<const KernelArgument> arguments) try {
  GraphState& graph = recording(state_);
  return graph.record(detail::kernel_call(graph.device, kernel.state(), shape, arguments));
} catch (...) {
  detail::rethrow_as_error();
}

void GraphBuilder::launch(const TaskList& tasks) try {
  GraphState& graph = recording(state_);
  if (!tasks.state()) detail::throw_dead("task list");
  const detail::TaskListState& list = *tasks.state();
  if (&list.device != &graph.device)
    detail::throw_other_device("the task list is for", list.device, "but the graph is for", graph.device,
                               "make a task list for each device");
  for (const AnyArrayView& array : list.arrays) detail::live(array);
  TaskRecorder recorder(graph, list);
  const std::size_t steps = graph.steps.size(), calls = graph.calls.size();
  try {
    detail::walk(std::span<const detail::PlacedTask>(list.placed), 0, recorder);
  } catch (...) {
    graph.truncate(steps, calls);
    throw;
  }
} catch (...) {
  detail::rethrow_as_error();
}

GraphNode GraphBuilder::copy(const AnyArrayView& to, const AnyArrayView& from) try {
  GraphState& graph = recording(state_);
  return graph.record(detail::copy_call(graph.device, to, from));
} catch (...) {
  detail::rethrow_as_error();
}

GraphNode GraphBuilder::copy_from_bytes(const AnyArrayView& to, std::span<const std::byte> from) try {
  GraphState& graph = recording(state_);
  return graph.record(detail::upload_call(graph.device, to, from));
} catch (...) {
  detail::rethrow_as_error();
}

GraphNode GraphBuilder::copy_to_bytes(const AnyArrayView& from, std::span<std::byte> to) try {
  GraphState& graph = recording(state_);
  return graph.record(detail::download_call(graph.device, from, to));
} catch (...) {
  detail::rethrow_as_error();
}

GraphNode GraphBuilder::fill_bytes(const AnyArrayView& to, const void* element) try {
  GraphState& graph = recording(state_);
  return graph.record(detail::fill_call(graph.device, to, element));
} catch (...) {
  detail::rethrow_as_error();
}

GraphNode GraphBuilder::fill_zero(const AnyArrayView& to) try {
  const std::vector<std::byte> zero(to.element().size());
  return fill_bytes(to, zero.data());
} catch (...) {
  detail::rethrow_as_error();
}

void GraphBuilder::keep_owner(std::shared_ptr<const void> owner) try {
  recording(state_).kept.push_back(std::move(owner));
} catch (...) {
  detail::rethrow_as_error();
}

Device GraphBuilder::device() const try {
  return Device(&recording(state_).device);
} catch (...) {
  detail::rethrow_as_error();
}

GraphBuilder::Branches::Branches(GraphBuilder& builder, std::size_t count) try : builder_(builder) {
  GraphState& graph = recording(builder.state_);
  steps_ = graph.steps.size();
  items_ = graph.calls.size();
  graph.steps.push_back({GraphStep::Kind::fork, static_cast<std::uint32_t>(count)});
  ++graph.open_branches;
} catch (...) {
  detail::rethrow_as_error();
}

GraphBuilder::Branches::~Branches() {
  if (!builder_.state_) return;  // a branch moved from the builder
  --builder_.state_->open_branches;
  if (!complete_) builder_.state_->truncate(steps_, items_);
}

// Branches without recorded calls are dropped. A single remaining branch needs no fork.
void GraphBuilder::Branches::complete() try {
  std::vector<GraphStep>& steps = recording(builder_.state_).steps;
  std::vector<std::vector<GraphStep>> branches;
  std::uint32_t depth = 0;
  for (std::size_t i = steps_ + 1; i < steps.size(); ++i) {
    if (steps[i].kind == GraphStep::Kind::fork) ++depth;
    if (depth == 0 && steps[i].kind == GraphStep::Kind::branch)
      branches.emplace_back();
    else
      branches.back().push_back(steps[i]);
    if (steps[i].kind == GraphStep::Kind::join) --depth;
  }
  std::erase_if(branches, [](const auto& branch) { return branch.empty(); });
  const auto branch_count = static_cast<std::uint32_t>(branches.size());
  steps.resize(steps_);
  if (branch_count > 1) steps.push_back({GraphStep::Kind::fork, branch_count});
  for (std::uint32_t branch = 0; branch < branch_count; ++branch) {
    if (branch_count > 1) steps.push_back({GraphStep::Kind::branch, branch});
    steps.insert(steps.end(), branches[branch].begin(), branches[branch].end());
  }
  if (branch_count > 1) steps.push_back({GraphStep::Kind::join, 0});
  complete_ = true;
} catch (...) {
  detail::rethrow_as_error();
}

void GraphBuilder::enter_branch(std::uint32_t index) try {
  recording(state_).steps.push_back({GraphStep::Kind::branch, index});
} catch (...) {
  detail::rethrow_as_error();
}

Graph GraphBuilder::build() try {
  if (recording(state_).open_branches)
    throw Error(ErrorCode::invalid,
                "build() was called inside a branch; call it after the branches of the graph");
  return Graph(std::move(state_));
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
