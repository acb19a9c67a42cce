// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "ir/algorithm.hpp"
#include "passes/split_algorithms.hpp"

namespace weir::passes {

namespace {

using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

/// Replaces algorithms by loops that access the same arrays.
class Substitution {
 public:
  explicit Substitution(ir::Kernel& kernel) : kernel_(kernel) {}

  void replace(Block& block) {
    for (Statement& s : std::exchange(block.statements, {})) {
      for (Block& body : s.bodies) replace(body);
      if (s.op != Op::algorithm) {
        block.statements.push_back(std::move(s));
        continue;
      }
      const ir::Algorithm& algorithm = ir::algorithm_of(kernel_, s);
      for (std::size_t i = 0; i < algorithm.arrays.size(); ++i)
        access(block, algorithm.arrays[i], ir::info(algorithm.kind).arrays[i].written, s.location);
      if (algorithm.size) access(block, *algorithm.size, false, s.location);
    }
  }

 private:
  /// A loop over an array's elements. Those that are only read are printed, since a load without a use would
  /// be dropped.
  void access(Block& block, std::uint32_t array, bool written, const ir::Location& where) {
    const ir::Parameter& parameter = kernel_.parameters[array];
    Statement loop{Op::parallel};
    Block body;
    for (std::uint8_t d = 0; d < std::max<std::uint8_t>(parameter.rank, 1); ++d) {
      Statement end{parameter.rank != 0 ? Op::extent : Op::constant, ScalarType::i64};
      if (parameter.rank != 0) {
        end.index = array;
        end.component = d;
      } else {
        end.immediate = 1;
      }
      loop.operands.push_back(value(block, Statement{Op::constant, ScalarType::i64}, where));
      loop.operands.push_back(value(block, std::move(end), where));
      body.arguments.push_back(kernel_.value_count++);
    }
    Statement load{Op::load, parameter.element.scalar};
    load.index = array;
    if (parameter.rank != 0) load.operands = body.arguments;
    load.result = kernel_.value_count++;
    Statement use{written ? Op::store : Op::print, parameter.element.scalar};
    use.index = array;
    if (written) use.operands = load.operands;
    use.operands.push_back(load.result);
    if (!written) {
      use.type = ScalarType::boolean;
      use.index = static_cast<std::uint32_t>(kernel_.strings.size());
      kernel_.strings.emplace_back("{}");
    }
    load.location = use.location = loop.location = where;
    body.statements = {std::move(load), std::move(use)};
    loop.bodies.push_back(std::move(body));
    block.statements.push_back(std::move(loop));
  }

  ValueId value(Block& block, Statement s, const ir::Location& where) {
    s.result = kernel_.value_count++;
    s.location = where;
    block.statements.push_back(std::move(s));
    return block.statements.back().result;
  }

  ir::Kernel& kernel_;
};

}  // namespace

bool has_algorithm(const ir::Statement& s) {
  return s.op == Op::algorithm || std::ranges::any_of(s.bodies, [](const Block& body) {
           return std::ranges::any_of(body.statements, has_algorithm);
         });
}

bool has_algorithms_in_regions(const ir::Kernel& kernel) {
  return std::ranges::any_of(kernel.body.statements,
                             [](const ir::Statement& s) { return s.op == Op::region && has_algorithm(s); });
}

ir::Kernel with_loops_for_algorithms(const ir::Kernel& kernel) {
  ir::Kernel result = kernel;
  Substitution(result).replace(result.body);
  result.algorithms.clear();
  return result;
}

}  // namespace weir::passes
