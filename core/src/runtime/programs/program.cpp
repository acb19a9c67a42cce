// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <weir/device.hpp>
#include <weir/program.hpp>
#include <weir/returned_values.hpp>
#include <weir/stream.hpp>

#include "dsl/make_program.hpp"
#include "ir/additions.hpp"
#include "ir/algorithm.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/prints.hpp"
#include "ir/round_trip.hpp"
#include "ir/verifier.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/launch/debug_launch.hpp"
#include "runtime/launch/dense_arguments.hpp"
#include "runtime/launch/grid_barriers.hpp"
#include "runtime/launch/launch_parts.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/launch/scratch.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/packs/kept_programs.hpp"
#include "runtime/prints/print_buffer.hpp"
#include "runtime/programs/layouts.hpp"
#include "runtime/programs/preparation.hpp"
#include "runtime/results/returned_values.hpp"
#include "runtime/streams/submission.hpp"

namespace weir {

using detail::DeviceState;
using detail::LaunchValues;
using detail::ProgramState;
using detail::StreamState;

namespace {

ProgramState& alive(const std::shared_ptr<ProgramState>& state) {
  if (!state) detail::throw_dead("kernel");
  return *state;
}

}  // namespace

namespace {

std::shared_ptr<ProgramState> make_state(ir::Kernel kernel, std::vector<ir::StructParameter> structs);

/// The parts of a kernel with algorithms, and a plan without tasks that says what they access.
void make_steps(ProgramState& program, const ir::Kernel& kernel) {
  passes::SplitKernel split = passes::split_at_algorithms(kernel);
  program.carried = std::move(split.carried);
  passes::Plan plan;
  plan.parameters.resize(kernel.parameters.size());
  const auto add_use = [&](std::size_t parameter, bool read, bool written) {
    plan.parameters[parameter].read |= read;
    plan.parameters[parameter].written |= written;
  };
  for (auto& step : split.steps) {
    if (auto* const algorithm = std::get_if<passes::AlgorithmStep>(&step)) {
      const auto& arrays = ir::info(algorithm->algorithm.kind).arrays;
      for (std::size_t i = 0; i < arrays.size(); ++i)
        add_use(algorithm->algorithm.arrays[i], arrays[i].read, arrays[i].written);
      program.steps.push_back({nullptr, std::move(*algorithm)});
      continue;
    }
    auto& part_kernel = std::get<ir::Kernel>(step);
    part_kernel.part = static_cast<std::uint32_t>(program.steps.size()) + 1;
    std::shared_ptr<ProgramState> part = make_state(std::move(part_kernel), program.structs);
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
      add_use(i, part->plan->parameters[i].read, part->plan->parameters[i].written);
    part->launches = program.launches;
    program.steps.push_back({std::move(part), {}});
  }
  if (passes::has_algorithms_in_regions(kernel))
    plan.alias_checks = passes::make_plan(passes::with_loops_for_algorithms(kernel), 8).alias_checks;
  program.plan = std::make_shared<const passes::Plan>(std::move(plan));
}

std::shared_ptr<ProgramState> make_state(ir::Kernel kernel, std::vector<ir::StructParameter> structs) {
  auto state = std::make_shared<ProgramState>();
  state->layouts.resize(structs.size());
  state->structs = std::move(structs);
  if (kernel.algorithms.empty())
    state->plan = std::make_shared<const passes::Plan>(passes::make_plan(kernel, 8));
  else
    make_steps(*state, kernel);
  const auto& tasks = state->plan->tasks;
  state->origin = tasks.empty() ? intern_origin(kernel.name) : detail::origin_of(kernel, tasks[0].task);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter& parameter = kernel.parameters[i];
    const bool array = parameter.kind == ir::Parameter::Kind::array;
    state->parameters.push_back(
        {parameter.name, array ? ParameterInfo::Kind::array : ParameterInfo::Kind::scalar, parameter.element,
         parameter.rank, i < state->plan->parameters.size() && state->plan->parameters[i].written});
  }
  state->kernel = std::make_shared<const ir::Kernel>(std::move(kernel));
  state->counts =
      ir::has_counters(*state->kernel) || ir::has_sums(*state->kernel) || ir::prints(state->kernel->body);
  if (detail::is_named_for_debugging(state->kernel->name)) detail::debug(*state, true);
  detail::prepare_fusion(*state);
  return state;
}

}  // namespace

Program make_program(ir::Kernel kernel, std::vector<ir::StructParameter> structs) {
  ir::verify_or_throw(kernel);
#ifndef NDEBUG
  ir::check_round_trip(kernel);
#endif
  std::shared_ptr<ProgramState> state = make_state(std::move(kernel), std::move(structs));
  detail::note_program(state);
  return Program(std::move(state));
}

Program Program::parse(std::string_view text, std::string_view file_name) try {
  return make_program(ir::parse(text, file_name));
} catch (...) {
  detail::rethrow_as_error();
}

std::string Program::text(bool with_locations) const try {
  return ir::print(*alive(state_).kernel, with_locations);
} catch (...) {
  detail::rethrow_as_error();
}
const std::string& Program::name() const try { return alive(state_).name(); } catch (...) {
  detail::rethrow_as_error();
}
std::span<const ParameterInfo> Program::parameters() const try {
  return alive(state_).parameters;
} catch (...) {
  detail::rethrow_as_error();
}

void Program::prepare(const StreamRef& on) const try {
  detail::compile_usual_variants(alive(state_), detail::live(on).device);
} catch (...) {
  detail::rethrow_as_error();
}

Preparation Program::prepare(std::span<const Device> devices) const try {
  alive(state_);
  std::vector<DeviceState*> states;
  for (const Device& device : devices) {
    device.state()->check_not_forked();
    device.state()->handle();
    states.push_back(device.state());
  }
  return Preparation(detail::prepare_in_background(state_, std::move(states)));
} catch (...) {
  detail::rethrow_as_error();
}

Preparation Program::prepare(const Device& device) const {
  return prepare(std::span(&device, 1));
}

void Program::debug(bool on) const try { detail::debug(alive(state_), on); } catch (...) {
  detail::rethrow_as_error();
}

void Program::launch(const StreamRef& on, std::span<const LaunchArgument> arguments,
                     const LaunchOptions& options) const try {
  alive(state_);
  detail::launch(state_, on, arguments, options, nullptr);
} catch (...) {
  detail::rethrow_as_error();
}

detail::ReturnedValues* detail::launch_returning(const Program& program, const StreamRef& on,
                                                 std::span<const LaunchArgument> arguments,
                                                 std::span<AnyArrayView> to,
                                                 const LaunchOptions& options) try {
  alive(program.state());
  ReturnTarget returns(on, live(on), arguments.last(to.size()), to);
  launch(program.state(), on, arguments, options, &returns);
  return returns.take();
} catch (...) {
  rethrow_as_error();
}

void detail::launch(const std::shared_ptr<ProgramState>& state, const StreamRef& on,
                    std::span<const LaunchArgument> arguments, const LaunchOptions& options,
                    ReturnTarget* returns) {
  ProgramState& program = *for_layouts(state, arguments);
  StreamState& stream = live(on);
  DeviceState& device = stream.device;
  check_arguments(program, device, arguments);
  if (has_strided(arguments)) [[unlikely]] {
    const auto& placed = for_layouts(state, arguments, strided_parameters(arguments));
    return launch(placed, on, DenseArguments(arguments, placed->strided).all(), options, returns);
  }
  if (!program.steps.empty()) return launch_parts(program, on, arguments, options, returns);
  if (program.debugged.load(std::memory_order_relaxed)) [[unlikely]] {
    stream.last_launch.set({.why_no_graph = WhyNoGraph::debugged});
    debug_launch(program, on, arguments, options);
    if (returns) returns->submit(stream, nullptr, program.origin);
    return;
  }
  LaunchValues values(arguments);
  const DeviceProgram& compiled = compiled_for(program, device, choose_variant(program, device, values));
  const passes::Plan& plan = *compiled.plan;
  if (!plan.is_separate) values.forget();  // merging may also have removed loops without effect
  throw_failure(stream);

  // Operations that may block come before run_tasks takes the submission lock.
  for (const LaunchArgument& argument : arguments)
    if (argument.array) device.memory.use(*argument.array->block(), stream);
  const LaunchScratch scratch(stream, plan.scratch_bytes);
  values.scratch = scratch.block();
  const FailureRecordUse record(stream, plan.uses_error_record);
  values.record = record.record();
  if (plan.has_cooperative) values.barriers = &grid_barriers(stream, ir::grid_barriers);
  if (plan.prints) {
    PrintBuffer& buffer = print_buffer(stream);
    values.prints = &buffer;
    values.launch_number = buffer.launches.fetch_add(1, std::memory_order_relaxed);
  }
  // Not of the variant, because merging may have removed the draws.
  if (program.plan->uses_launch_key) values.key = next_launch_key(program, options);

  if (!returns) return run_tasks(program, compiled, stream, values, options.mode);
  // The copy of the record must hold no failure of a later launch.
  std::optional<SubmissionSequence> step;
  if (record.record()) step.emplace(stream);
  run_tasks(program, compiled, stream, values, options.mode);
  returns->submit(stream, record.record(), program.origin);
}

}  // namespace weir
