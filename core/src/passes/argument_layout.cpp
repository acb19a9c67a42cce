// SPDX-License-Identifier: Apache-2.0
#include "passes/argument_layout.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ir/rules.hpp"

namespace weir::passes {

using ir::TaskArgument;
using Kind = ir::TaskArgument::Kind;

void lay_out_arguments(const ir::Kernel& kernel, std::uint32_t address_bytes, ir::Task& task) {
  const ir::ArgumentNeeds needs = ir::argument_needs(kernel, task);
  std::vector<TaskArgument> addresses, values;
  const auto add = [&](Kind kind, std::size_t parameter, std::uint8_t index, ScalarType type,
                       std::uint32_t size) {
    TaskArgument argument{};
    argument.kind = kind;
    argument.parameter = static_cast<std::uint16_t>(parameter);
    argument.index = index;
    argument.type = type;
    argument.size = size;
    (argument.is_address() ? addresses : values).push_back(argument);
  };
  const std::size_t count = kernel.parameters.size();
  for (std::size_t p = 0; p < count; ++p) {
    if (needs.arrays[p]) add(Kind::array, p, 0, ScalarType::u64, address_bytes);
  }
  if (needs.scratch) add(Kind::scratch, 0, 0, ScalarType::u64, address_bytes);
  if (needs.error) add(Kind::error, 0, 0, ScalarType::u64, address_bytes);
  if (needs.print) add(Kind::print, 0, 0, ScalarType::u64, address_bytes);
  if (needs.barrier) add(Kind::barrier, 0, 0, ScalarType::u64, address_bytes);
  for (std::size_t p = 0; p < count; ++p) {
    for (const std::uint8_t d : needs.extents[p]) add(Kind::extent, p, d, ScalarType::i64, 8);
    const ScalarType type = kernel.parameters[p].element.scalar;
    const auto size = static_cast<std::uint32_t>(size_of(type));
    for (const std::uint8_t component : needs.components[p]) add(Kind::scalar, p, component, type, size);
  }
  for (const std::uint8_t depth : needs.repetitions) add(Kind::repetition, 0, depth, ScalarType::i64, 8);
  if (needs.launch_key) add(Kind::launch_key, 0, 0, ScalarType::u64, 8);
  if (needs.error || needs.print) add(Kind::site_base, 0, 0, ScalarType::u32, 4);
  if (needs.print) add(Kind::launch, 0, 0, ScalarType::u32, 4);
  // Decreasing sizes leave no gaps.
  task.arguments = std::move(addresses);
  for (const std::uint32_t size : {8u, 4u, 2u, 1u}) {
    std::copy_if(values.begin(), values.end(), std::back_inserter(task.arguments),
                 [size](const TaskArgument& argument) { return argument.size == size; });
  }
  std::uint32_t end = 0;
  for (TaskArgument& argument : task.arguments) {
    argument.offset = end;
    end += argument.size;
  }
  task.argument_bytes = (end + 15) / 16 * 16;
}

}  // namespace weir::passes
