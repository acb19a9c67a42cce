// SPDX-License-Identifier: Apache-2.0
// Checks of a launch's arguments, before any submission.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/verifier.hpp"
#include "runtime/launch/dense_arguments.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir::detail {
namespace {

[[noreturn]] void refuse(const ProgramState& program, std::size_t i, const std::string& words) {
  throw Error(ErrorCode::invalid,
              fmt::format("kernel '{}', {}: {}", program.name(),
                          ir::describe_argument(*program.kernel, program.structs, i), words),
              program.name(), std::string(), 0);
}

std::string count_of(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string describe_scalar(const ElementType& element) {
  const std::string name = to_string(element);
  return fmt::format("{} {}", name[0] == 'i' || name[0] == 'f' ? "an" : "a", name);
}

std::string describe_array(const ElementType& element, std::size_t rank) {
  return fmt::format("an array of {} with {}", to_string(element), count_of(rank, "dimension"));
}

std::string describe(const ParameterInfo& parameter) {
  if (parameter.kind == ParameterInfo::Kind::scalar) return describe_scalar(parameter.element);
  return describe_array(parameter.element, parameter.rank);
}

std::string describe(const LaunchArgument& argument) {
  if (argument.array) return describe_array(argument.array->element(), argument.array->rank());
  return argument.data ? describe_scalar(argument.element) : "nothing";
}

bool is_plain_integer(const ElementType& element) {
  return element.shape == ElementType::Shape::scalar && is_integer(element.scalar);
}

std::string number_text(std::uint64_t bits, bool is_signed) {
  return is_signed ? std::to_string(static_cast<std::int64_t>(bits)) : std::to_string(bits);
}

/// Describes an integer argument that does not fit its parameter; empty if the value fits or is no integer.
std::string describe_misfit(const ElementType& expected, const LaunchArgument& given) {
  if (!given.data || !is_plain_integer(expected) || !is_plain_integer(given.element) ||
      size_of(given.element.scalar) != 8)
    return {};
  std::uint64_t bits = 0;
  std::memcpy(&bits, given.data, sizeof bits);
  const bool negative = is_signed(given.element.scalar) && static_cast<std::int64_t>(bits) < 0;
  const std::size_t width = size_of(expected.scalar) * 8;
  const std::uint64_t max_value = ~std::uint64_t{0} >> (64 - width + is_signed(expected.scalar));
  const std::uint64_t min_value = is_signed(expected.scalar) ? ~max_value : 0;
  const bool fits =
      negative ? static_cast<std::int64_t>(bits) >= static_cast<std::int64_t>(min_value) : bits <= max_value;
  if (fits) return {};
  return fmt::format(
      "{} does not fit {}, which holds {} to {}; pass another number, or give the kernel a wider Value",
      number_text(bits, is_signed(given.element.scalar)), describe_scalar(expected),
      number_text(min_value, is_signed(expected.scalar)), number_text(max_value, false));
}

[[noreturn]] void refuse_count(const ProgramState& program, std::size_t expected, std::size_t found) {
  throw Error(ErrorCode::invalid,
              fmt::format("kernel '{}' expects {}, found {}; pass one for each parameter, after the stream",
                          program.name(), count_of(expected, "argument"), found));
}

std::string place(const ir::Kernel& kernel, const ir::Location& at) {
  if (!kernel.knows(at)) return "an unknown line";
  return fmt::format("{}:{}", kernel.files[at.file], at.line);
}

}  // namespace

void check_form(const ProgramState& program, std::span<const LaunchArgument> arguments) {
  const std::size_t expected = program.parameters.size() - program.strided.size();
  if (arguments.size() != expected) refuse_count(program, expected, arguments.size());
  for (std::size_t s = 0; s < program.structs.size(); ++s) {
    const std::uint32_t first = program.structs[s].first;
    if (const Layout given = arguments[first].layout; given != program.layouts[s])
      refuse(program, first,
             fmt::format("expected a struct array stored as {}, was given one stored as {}; record the call "
                         "again for another layout",
                         to_string(program.layouts[s]), to_string(given)));
  }
  for (const StridedParameter& given : strided_parameters(arguments))
    if (!std::ranges::count(program.strided, given.parameter, &StridedParameter::parameter))
      refuse(program, given.parameter,
             "expected a contiguous array, as when the call was recorded, found a strided one; record the "
             "call again, or copy the array into a contiguous one");
  for (const StridedParameter& strided : program.strided) {
    const LaunchArgument& given = arguments[strided.parameter];
    if (!given.array || given.array->element() != strided.element || given.array->rank() != strided.rank)
      refuse(program, strided.parameter,
             fmt::format("expected {}, found {}", describe_array(strided.element, strided.rank),
                         describe(given)));
  }
}

void check_arguments(const ProgramState& program, const DeviceState& device,
                     std::span<const LaunchArgument> arguments) {
  const std::vector<ParameterInfo>& parameters = program.parameters;
  if (arguments.size() != parameters.size()) refuse_count(program, parameters.size(), arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ParameterInfo& parameter = parameters[i];
    const LaunchArgument& argument = arguments[i];
    if (parameter.kind == ParameterInfo::Kind::scalar) {
      if (argument.array || !argument.data || argument.element != parameter.element) [[unlikely]] {
        const std::string misfit =
            argument.array ? std::string() : describe_misfit(parameter.element, argument);
        if (!misfit.empty()) refuse(program, i, misfit);
        refuse(program, i, fmt::format("expected {}, found {}", describe(parameter), describe(argument)));
      }
      continue;
    }
    if (!argument.array) [[unlikely]]
      refuse(program, i, fmt::format("expected {}, found {}", describe(parameter), describe(argument)));
    const AnyArrayView& view = *argument.array;
    if (!is_alive(view)) [[unlikely]]
      refuse(program, i,
             "the array does not exist: it was freed, moved from, or never created; keep its Array alive "
             "until the call returns");
    if (view.element() != parameter.element || view.rank() != parameter.rank) [[unlikely]]
      refuse(program, i, fmt::format("expected {}, found {}", describe(parameter), describe(argument)));
    if (&view.block()->device != &device) [[unlikely]]
      refuse(program, i,
             other_device_words("the array is on device", view.block()->device, "but the launch is on",
                                device, copy_array_there));
  }
  for (const passes::AliasCheck& check : program.plan->alias_checks) {
    const AnyArrayView& written = *arguments[check.written].array;
    const AnyArrayView& touched = *arguments[check.touched].array;
    if (!overlap(written, touched) || program.members_of_one(check.written, check.touched)) [[likely]]
      continue;
    const ir::Location& at = check.written_at;
    throw Error(
        ErrorCode::invalid,
        fmt::format(
            "kernel '{}': {} and {} share memory, but one stream_parallel block "
            "writes the "
            "first ({}) while another block uses the second ({}); pass separate arrays, or put both into "
            "one block",
            program.name(), ir::describe_argument(*program.kernel, program.structs, check.written),
            ir::describe_argument(*program.kernel, program.structs, check.touched),
            place(*program.kernel, check.written_at), place(*program.kernel, check.touched_at)),
        program.name(), program.kernel->knows(at) ? program.kernel->files[at.file] : std::string(), at.line);
  }
}

}  // namespace weir::detail
