// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/launch_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <vector>
#include <weir/graph.hpp>

#include "algorithms/steps.hpp"
#include "algorithms/submit.hpp"
#include "algorithms/workspace.hpp"
#include "ir/algorithm.hpp"
#include "ir/verifier.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/results/returned_values.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {

namespace {

/// Calls part(program) and algorithm(step) in order.
template <class Part, class Algorithm>
void for_each_step(const ProgramState& program, const Part& part, const Algorithm& algorithm) {
  for (const ProgramStep& step : program.steps)
    if (!step.part)
      algorithm(step.algorithm);
    else if (!step.part->plan->tasks.empty())
      part(step.part);
}

/// The arguments of all parts: those of the launch, and the arrays that carry values between parts.
class PartArguments {
 public:
  PartArguments(const ProgramState& program, const algorithms::Steps& steps,
                std::span<const LaunchArgument> given)
      : program_(program), all_(given.begin(), given.end()) {
    for (const passes::CarriedArray& carried : program.carried) {
      views_.push_back(steps.scratch({carried.type}, carried.count));
      all_.push_back({&views_.back(), nullptr, views_.back().element(), {}});
    }
  }
  PartArguments(const PartArguments&) = delete;
  PartArguments& operator=(const PartArguments&) = delete;

  std::span<const LaunchArgument> all() const noexcept { return all_; }

  /// Throws what a step would throw because of its arguments, so that nothing is submitted before.
  void check(const DeviceState& device, const WorkTarget& target) const {
    const WorkTarget for_checks = algorithms::Targets::for_checks(target);
    for_each_step(
        program_, [&](const std::shared_ptr<ProgramState>& part) { check_arguments(*part, device, all_); },
        [&](const passes::AlgorithmStep& step) { submit(for_checks, step); });
  }

  void submit(const WorkTarget& target, const passes::AlgorithmStep& step) const try {
    std::vector<AnyArrayView> arrays;  // with one dimension, as the functions expect
    for (const std::uint32_t parameter : step.algorithm.arrays)
      arrays.push_back(algorithms::as_one_dimension(*all_[parameter].array));
    const auto size = step.algorithm.size;
    algorithms::submit(
        size ? algorithms::Targets::with_size(target, algorithms::as_one_dimension(*all_[*size].array))
             : target,
        step.algorithm, arrays);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid || !error.kernel().empty()) throw;
    const ir::Kernel& kernel = *program_.kernel;
    const bool known = kernel.knows(step.location);
    throw Error(
        ErrorCode::invalid,
        fmt::format("kernel '{}', {}: {}", kernel.name, ir::describe(kernel, step.location), error.what()),
        kernel.name, known ? kernel.files[step.location.file] : std::string(), step.location.line);
  }

 private:
  const ProgramState& program_;
  std::deque<AnyArrayView> views_;  // arguments point to them
  std::vector<LaunchArgument> all_;
};

bool can_fail(const ProgramState& program) {
  return std::ranges::any_of(program.steps, [](const ProgramStep& step) {
    return step.part ? step.part->plan->uses_error_record : ir::can_fail(step.algorithm.algorithm.kind);
  });
}

/// All parts draw the random numbers of one launch.
LaunchOptions with_number(const ProgramState& program, LaunchOptions options) {
  const bool draws = std::ranges::any_of(
      program.steps, [](const ProgramStep& step) { return step.part && step.part->plan->uses_launch_key; });
  if (draws) options.launch_number = next_launch_number(program, options);
  return options;
}

}  // namespace

void launch_parts(const ProgramState& program, const StreamRef& on, std::span<const LaunchArgument> given,
                  const LaunchOptions& options, ReturnTarget* returns) {
  StreamState& stream = live(on);
  throw_failure(stream);
  const WorkTarget target(on);
  const algorithms::Steps steps(target);
  const PartArguments arguments(program, steps, given);
  arguments.check(stream.device, target);
  const SubmissionSequence one_step(stream);
  const FailureRecordUse record(stream, returns && can_fail(program));
  const LaunchOptions of_parts = with_number(program, options);
  for_each_step(
      program,
      [&](const std::shared_ptr<ProgramState>& part) {
        launch(part, on, arguments.all(), of_parts, nullptr);
      },
      [&](const passes::AlgorithmStep& step) { arguments.submit(target, step); });
  if (returns) returns->submit(stream, record.record(), program.origin);
}

void record_parts(const ProgramState& program, GraphBuilder& graph, std::span<const LaunchArgument> given,
                  const LaunchOptions& options) {
  const WorkTarget target(graph);
  const algorithms::Steps steps(target);
  const PartArguments arguments(program, steps, given);
  graph.parallel([&] {
    for_each_step(
        program,
        [&](const std::shared_ptr<ProgramState>& part) {
          graph.launch(Program(part), arguments.all(), options);
        },
        [&](const passes::AlgorithmStep& step) { arguments.submit(target, step); });
  });
}

}  // namespace weir::detail
