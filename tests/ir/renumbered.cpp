// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <utility>

#include "random_kernel.hpp"

namespace weir::test {

namespace {

using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

std::vector<std::uint32_t> permutation(std::uint32_t count, Choices& choices) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[choices.below(i)]);
  return order;
}

void rename(Block& block, const std::vector<std::uint32_t>& values, const std::vector<std::uint32_t>& locals,
            const std::vector<std::uint32_t>& strings) {
  for (ValueId& id : block.arguments) id = values[id];
  for (Statement& s : block.statements) {
    for (ValueId& id : s.operands) id = values[id];
    if (s.result != ir::no_value) s.result = values[s.result];
    if (s.op == Op::local || s.op == Op::get || s.op == Op::set) s.index = locals[s.index];
    if (s.op == Op::assert_ || s.op == Op::print) s.index = strings[s.index];
    for (Block& body : s.bodies) rename(body, values, locals, strings);
  }
}

}  // namespace

ir::Kernel renumbered(ir::Kernel kernel, Choices& choices) {
  kernel.value_count += static_cast<std::uint32_t>(choices.below(5));
  kernel.local_count += static_cast<std::uint32_t>(choices.below(5));
  const auto strings = permutation(static_cast<std::uint32_t>(kernel.strings.size()), choices);
  rename(kernel.body, permutation(kernel.value_count, choices), permutation(kernel.local_count, choices),
         strings);
  std::vector<std::string> moved(strings.size());
  for (std::size_t i = 0; i < strings.size(); ++i) moved[strings[i]] = kernel.strings[i];
  kernel.strings = std::move(moved);
  return kernel;
}

}  // namespace weir::test
