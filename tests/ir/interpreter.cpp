// SPDX-License-Identifier: Apache-2.0
#include "interpreter.hpp"

#include <cstring>
#include <utility>

namespace weir::test {
namespace {

LaunchData random_launch(const ir::Kernel& kernel, Choices& choices) {
  LaunchData data;
  data.launch_key = choices.bits();
  for (const ir::Parameter& p : kernel.parameters) {
    auto& extents = data.extents.emplace_back();
    auto& components = data.components.emplace_back();
    std::size_t count = p.element.components();
    for (std::size_t d = 0; d < p.rank; ++d) {
      extents.push_back(static_cast<std::int64_t>(1 + choices.below(4)));
      count *= static_cast<std::size_t>(extents.back());
    }
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * size_of(p.element.scalar));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = choices.chance(3) ? choices.bits() : choices.below(8);
      components.push_back(bits & (p.element.scalar == ScalarType::boolean ? 1 : mask));
    }
  }
  return data;
}

interpreter::Arguments arguments_of(const ir::Kernel& kernel, const LaunchData& data) {
  interpreter::Arguments arguments;
  arguments.launch_key = data.launch_key;
  for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
    const bool array = kernel.parameters[p].kind == ir::Parameter::Kind::array;
    arguments.arrays.push_back({data.extents[p], p, 0});
    arguments.scalars.push_back(array ? std::vector<std::uint64_t>() : data.components[p]);
    auto& memory = arguments.memories.emplace_back();
    if (!array) continue;
    const std::size_t size = size_of(kernel.parameters[p].element.scalar);
    memory.resize(size * data.components[p].size());
    for (std::size_t i = 0; i < data.components[p].size(); ++i)
      std::memcpy(memory.data() + i * size, &data.components[p][i], size);
  }
  return arguments;
}

}  // namespace

Machine::Machine(const ir::Kernel& kernel, Choices& choices)
    : interpreter::Machine(kernel, arguments_of(kernel, random_launch(kernel, choices)), {},
                           interpreter::Meaning::lenient),
      kernel_(kernel) {}

Machine::Machine(const ir::Kernel& kernel, const LaunchData& data, MathLibrary library)
    : interpreter::Machine(kernel, arguments_of(kernel, data), std::move(library)), kernel_(kernel) {}

void Machine::run_task(const ir::Task& task, std::vector<std::byte>& scratch, std::uint64_t steps) {
  start(task.value_count, task.local_count, steps);
  scratch_ = &scratch;
  if (task.kind == ir::TaskKind::reduce_partial) {
    // Computes the whole result at once and stores it where the following task would.
    ir::Block body = task.body;
    const ir::Statement loop = body.statements.back();
    body.statements.pop_back();
    block(body);
    const std::uint64_t result = result_of(loop);
    std::memcpy(scratch.data() + task.result_offset, &result, size_of(loop.type));
  } else {
    block(task.body);
  }
}

std::vector<std::uint64_t> Machine::contents() const {
  std::vector<std::uint64_t> all;
  for (std::size_t p = 0; p < arguments().arrays.size(); ++p) {
    const std::vector<std::uint64_t> array = components(p);
    all.insert(all.end(), array.begin(), array.end());
  }
  return all;
}

std::vector<std::uint64_t> Machine::components(std::size_t parameter) const {
  if (kernel_.parameters[parameter].kind == ir::Parameter::Kind::scalar) return {};
  const ElementType& element = kernel_.parameters[parameter].element;
  const interpreter::ArrayArgument& array = arguments().arrays[parameter];
  std::size_t count = element.components();
  for (const std::int64_t extent : array.extents) count *= static_cast<std::size_t>(extent);
  std::vector<std::uint64_t> all(count);
  const std::byte* at = arguments().memories[array.memory].data() + array.offset;
  for (std::uint64_t& bits : all) {
    std::memcpy(&bits, at, size_of(element.scalar));
    if (element.scalar == ScalarType::boolean) bits = bits != 0;
    at += size_of(element.scalar);
  }
  return all;
}

}  // namespace weir::test
