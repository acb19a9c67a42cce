// SPDX-License-Identifier: Apache-2.0
#include <weir/program.hpp>
#include <weir/stream.hpp>

#include "dsl/make_program.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "runtime/array_use.hpp"
#include "runtime/launch/program_internal.hpp"
#include "runtime/profile.hpp"
#include "runtime/stream_errors.hpp"

namespace weir {

using detail::CompiledProgram;
using detail::DeviceState;
using detail::LaunchValues;
using detail::ProgramState;
using detail::StreamState;

namespace {

/// A launch's own memory for values that pass between its tasks; goes back in the stream's order.
class Temporaries {
 public:
  Temporaries(StreamState& stream, std::uint32_t bytes) {
    if (bytes == 0) return;
    block_ = stream.device.memory.allocate(stream, bytes);
    stream.device.memory.use(*block_, stream);
  }
  ~Temporaries() {
    if (block_) block_->device.memory.release(block_);
  }
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;
  const detail::Block* block() const noexcept { return block_; }

 private:
  detail::Block* block_ = nullptr;
};

}  // namespace

Program make_program(ir::Kernel kernel) {
  ir::verify_or_throw(kernel);
  auto state = std::make_shared<ProgramState>();
  state->plan = std::make_shared<const passes::Plan>(passes::make_plan(kernel, 8));
  state->name = detail::intern(kernel.name);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter& parameter = kernel.parameters[i];
    const bool array = parameter.kind == ir::Parameter::Kind::array;
    state->parameters.push_back(
        {parameter.name, array ? ParameterInfo::Kind::array : ParameterInfo::Kind::scalar, parameter.element,
         parameter.rank, i < state->plan->parameters.size() && state->plan->parameters[i].written});
  }
  state->kernel = std::make_shared<const ir::Kernel>(std::move(kernel));
  return Program(std::move(state));
}

Program Program::parse(std::string_view text, std::string_view file_name) {
  return make_program(ir::parse(text, file_name));
}

std::string Program::text(bool with_locations) const {
  return ir::print(*state_->kernel, with_locations);
}
const std::string& Program::name() const noexcept {
  return *state_->name;
}
std::span<const ParameterInfo> Program::parameters() const noexcept {
  return state_->parameters;
}

void Program::prepare(const StreamRef& on) const {
  detail::compiled_for(*state_, detail::live(on).device);
}

void Program::launch(const StreamRef& on, std::span<const LaunchArgument> arguments,
                     const LaunchOptions& options) const {
  ProgramState& program = *state_;
  StreamState& stream = detail::live(on);
  DeviceState& device = stream.device;
  detail::check_arguments(program, device, arguments);
  const CompiledProgram& compiled = detail::compiled_for(program, device);
  const passes::Plan& plan = *compiled.plan;
  detail::throw_failure(stream);

  for (const LaunchArgument& argument : arguments)
    if (argument.array) device.memory.use(*argument.array->block(), stream);
  const Temporaries temporaries(stream, plan.temporary_bytes);
  LaunchValues values(arguments);
  values.temporaries = temporaries.block();
  if (plan.uses_error_record) values.record = &detail::failure_record(stream);
  if (plan.uses_launch_key) {
    const bool automatic = options.launch_number == LaunchOptions::automatic;
    values.key =
        detail::launch_key(options.seed, automatic ? program.launches.fetch_add(1, std::memory_order_relaxed)
                                                   : options.launch_number);
  }

  detail::ArgumentBuffer block(compiled.argument_bytes);
  detail::run_on_streams(stream, compiled.placed, [&](std::size_t index, StreamState& lane) {
    const passes::PlannedTask& planned = plan.tasks[index];
    const detail::CompiledTask& task = compiled.tasks[index];
    const std::uint32_t grid = detail::choose_grid(device, plan, planned, task, values);
    if (grid == 0) return;
    detail::pack_task(device, planned.task, task, values, block.data());
    const LaunchShape shape{grid, task.block, task.shared_bytes};
    detail::submit_timed(lane, {program.name, planned.task.name, planned.region, planned.block}, [&] {
      detail::submit_launch(
          lane, detail::make_launch(task.kernel, shape, block.data(), planned.task.argument_bytes),
          program.name);
    });
  });
}

}  // namespace weir
