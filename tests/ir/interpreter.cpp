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
                           interpreter::Meaning::lenient) {}

Machine::Machine(const ir::Kernel& kernel, const LaunchData& data, MathLibrary library)
    : interpreter::Machine(kernel, arguments_of(kernel, data), std::move(library)) {}

std::vector<std::uint64_t> Machine::contents() const {
  std::vector<std::uint64_t> all;
  for (std::size_t p = 0; p < arguments().arrays.size(); ++p) {
    const std::vector<std::uint64_t> array = components(p);
    all.insert(all.end(), array.begin(), array.end());
  }
  return all;
}

}  // namespace weir::test
