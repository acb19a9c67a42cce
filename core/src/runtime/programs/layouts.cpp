// SPDX-License-Identifier: Apache-2.0
#include "runtime/programs/layouts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/make_program.hpp"
#include "ir/struct_parameter.hpp"
#include "passes/place_members.hpp"
#include "passes/place_strided.hpp"
#include "runtime/launch/debug_launch.hpp"

namespace weir::detail {

bool has_layouts(const ProgramState& program, std::span<const LaunchArgument> arguments) noexcept {
  for (std::size_t s = 0; s < program.structs.size(); ++s)
    if (arguments[program.structs[s].first].layout != program.layouts[s]) return false;
  return true;
}

namespace {

/// Arrays of the launch that are strided, by number.
std::vector<std::uint32_t> numbers_of(std::span<const StridedParameter> strided) {
  std::vector<std::uint32_t> numbers;
  for (const StridedParameter& array : strided) numbers.push_back(array.parameter);
  return numbers;
}

const PlacedProgram* find(const ProgramState& program, std::span<const LaunchArgument> arguments,
                          std::span<const StridedParameter> strided) noexcept {
  const PlacedProgram* placed = program.placed.load(std::memory_order_acquire);
  const bool debugged = program.debugged.load(std::memory_order_relaxed);
  while (placed && !(placed->debugged == debugged && has_layouts(*placed->program, arguments) &&
                     std::ranges::equal(placed->program->strided, strided)))
    placed = placed->next;
  return placed;
}

/// Throws Error{unsupported} if an algorithm takes one of the arrays.
void check_algorithms(const ProgramState& program, std::span<const StridedParameter> strided) {
  for (const ir::Algorithm& algorithm : program.kernel->algorithms)
    for (const StridedParameter& array : strided)
      if (algorithm.size == array.parameter || std::ranges::count(algorithm.arrays, array.parameter))
        throw Error(ErrorCode::unsupported,
                    fmt::format("kernel '{}', {}: it is strided, but the kernel passes it to an algorithm, "
                                "which takes contiguous arrays; copy it into one with copy_from",
                                program.name(),
                                ir::describe_argument(*program.kernel, program.structs, array.parameter)),
                    program.name(), std::string(), 0);
}

/// The kernel can be planned for contiguous arrays. What is missing is which elements its blocks access.
[[noreturn]] void refuse_strided(const ProgramState& program, std::span<const StridedParameter> strided) {
  std::string arrays;
  for (const StridedParameter& array : strided)
    arrays += (arrays.empty() ? "" : ", ") +
              ir::describe_argument(*program.kernel, program.structs, array.parameter);
  throw Error(ErrorCode::unsupported,
              fmt::format("kernel '{}', {}: strided. Stream blocks that access different parts of one array "
                          "take contiguous arrays; copy it into one with copy_from, or pass the parts as "
                          "separate arguments",
                          program.name(), arrays),
              program.name(), std::string(), 0);
}

std::shared_ptr<ProgramState> place(const ProgramState& program, std::span<const LaunchArgument> arguments,
                                    std::span<const StridedParameter> strided, bool debugged) {
  check_algorithms(program, strided);
  std::vector<Layout> layouts;
  for (const ir::StructParameter& array : program.structs) layouts.push_back(arguments[array.first].layout);
  ir::Kernel kernel = *program.kernel;
  // The interpreter checks all indices.
  kernel.options.check_bounds = debugged || kernel.options.check_bounds;
  passes::place_members(kernel, program.structs, layouts, kernel.options.check_bounds);
  passes::place_strided(kernel, program.structs, numbers_of(strided), kernel.options.check_bounds);
  std::shared_ptr<ProgramState> placed;
  try {
    placed = make_program(std::move(kernel), program.structs).state();
  } catch (const Error& error) {
    if (strided.empty() || error.code() != ErrorCode::kernel) throw;
    refuse_strided(program, strided);
  }
  placed->layouts = std::move(layouts);
  placed->strided.assign(strided.begin(), strided.end());
  placed->launches = program.launches;
  for (const ProgramStep& step : placed->steps) {
    if (!step.part) continue;
    step.part->layouts = placed->layouts;
    step.part->launches = program.launches;
  }
  debug(*placed, debugged);
  return placed;
}

}  // namespace

const std::shared_ptr<ProgramState>& for_layouts(const std::shared_ptr<ProgramState>& program,
                                                 std::span<const LaunchArgument> arguments,
                                                 std::span<const StridedParameter> strided) {
  // The launch refuses a wrong number of arguments.
  if (strided.empty() && (program->structs.empty() || arguments.size() != program->parameters.size() ||
                          has_layouts(*program, arguments)))
    return program;
  if (const PlacedProgram* placed = find(*program, arguments, strided)) return placed->program;
  const std::lock_guard lock(program->placing);
  if (const PlacedProgram* placed = find(*program, arguments, strided)) return placed->program;
  const bool debugged = program->debugged.load(std::memory_order_relaxed);
  const PlacedProgram* head = program->placed.load(std::memory_order_relaxed);
  const auto* added = new PlacedProgram{place(*program, arguments, strided, debugged), debugged, head};
  program->placed.store(added, std::memory_order_release);
  return added->program;
}

}  // namespace weir::detail
