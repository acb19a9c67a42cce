// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "ir/prints.hpp"
#include "passes/draft.hpp"
#include "passes/fuse.hpp"

namespace weir::passes {

namespace {

using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

constexpr std::int64_t max_iterations = 16;
/// Statements of one loop written out, with the loops inside it. A Cholesky factorisation of a 6 x 6 matrix
/// takes about 1,000.
constexpr std::size_t max_statements_of_loop = 2000;
/// Statements of a merged loop. Compile time grows faster than the number of statements.
constexpr std::size_t max_statements = 8000;

/// Whether a statement of the block leaves or continues the loop around it.
bool jumps(const Block& block) {
  return std::any_of(block.statements.begin(), block.statements.end(), [](const Statement& s) {
    if (s.op == Op::break_ || s.op == Op::continue_) return true;
    if (s.op == Op::for_ || s.op == Op::while_) return false;
    return std::any_of(s.bodies.begin(), s.bodies.end(), jumps);
  });
}

class Unrolling {
 public:
  explicit Unrolling(ir::Kernel& kernel)
      : kernel_(kernel),
        renamed_(kernel.value_count),
        locals_(kernel.local_count),
        constants_(kernel.value_count) {
    for (ValueId id = 0; id < kernel.value_count; ++id) renamed_[id] = id;
    for (std::uint32_t local = 0; local < kernel.local_count; ++local) locals_[local] = local;
    gather_constants(kernel.body);
  }

  void loop(Statement& loop) {
    std::vector<Statement> out;
    count_ = 0;
    append(loop.bodies[0], false, out);
    loop.bodies[0].statements = std::move(out);
  }

 private:
  void gather_constants(const Block& block) {
    for (const Statement& s : block.statements) {
      fold(s);
      for (const Block& body : s.bodies) gather_constants(body);
    }
  }

  // Copies get names of their own: a value is defined once.
  void append(const Block& from, bool copy, std::vector<Statement>& out) {
    for (const Statement& s : from.statements) {
      if (too_many_) return;
      if (s.op != Op::for_ || !unroll(s, out)) out.push_back(appended(s, copy));
    }
  }

  Statement appended(const Statement& s, bool copy) {
    ++count_;
    if (outermost_ && (count_ > max_statements || count_ - before_ > max_statements_of_loop))
      too_many_ = true;
    Statement out = s;
    for (ValueId& id : out.operands) id = renamed_[id];
    if (s.result != ir::no_value) out.result = define(s.result, copy);
    if (s.op == Op::local) locals_[s.index] = copy ? kernel_.local_count++ : s.index;
    if (s.op == Op::local || s.op == Op::get || s.op == Op::set) out.index = locals_[s.index];
    for (std::size_t b = 0; b < s.bodies.size(); ++b) {
      for (ValueId& id : out.bodies[b].arguments) id = define(id, copy);
      std::vector<Statement> body;
      append(s.bodies[b], copy, body);
      out.bodies[b].statements = std::move(body);
    }
    fold(out);
    return out;
  }

  ValueId define(ValueId id, bool copy) { return renamed_[id] = copy ? fresh() : id; }

  ValueId fresh() {
    const ValueId id = kernel_.value_count++;
    renamed_.push_back(id);
    constants_.push_back(std::nullopt);
    return id;
  }

  // Bounds of loops are constants, indices of loops around them that are written out, and sums of these.
  void fold(const Statement& s) {
    if (s.type != ScalarType::i64 || s.result == ir::no_value) return;
    const auto operand = [&](std::size_t i) { return constants_[s.operands[i]]; };
    if (s.op == Op::constant) constants_[s.result] = s.immediate;
    if (s.op != Op::add && s.op != Op::sub && s.op != Op::mul) return;
    if (!operand(0) || !operand(1)) return;
    constants_[s.result] = s.op == Op::add   ? *operand(0) + *operand(1)
                           : s.op == Op::sub ? *operand(0) - *operand(1)
                                             : *operand(0) * *operand(1);
  }

  std::optional<std::int64_t> constant(ValueId id) const {
    const auto bits = constants_[renamed_[id]];
    return bits ? std::optional(static_cast<std::int64_t>(*bits)) : std::nullopt;
  }

  // False where the loop stays as it is.
  bool unroll(const Statement& loop, std::vector<Statement>& out) {
    const auto low = constant(loop.operands[0]), high = constant(loop.operands[1]),
               step = constant(loop.operands[2]);
    if (!low || !high || !step || *step != 1) return false;
    if (*low<*high&& static_cast<std::uint64_t>(*high) - static_cast<std::uint64_t>(*low)> max_iterations)
      return false;
    if (jumps(loop.bodies[0]) || can_fail(loop, kernel_.options) || ir::prints(loop)) return false;
    const bool is_outermost = !outermost_;
    const std::size_t begin = out.size();
    if (is_outermost) {
      outermost_ = true;
      before_ = count_;
    }
    for (std::int64_t i = *low; i < *high && !too_many_; ++i) {
      Statement index;
      index.op = Op::constant;
      index.type = ScalarType::i64;
      index.immediate = static_cast<std::uint64_t>(i);
      index.result = fresh();
      index.location = loop.location;
      fold(index);
      renamed_[loop.bodies[0].arguments[0]] = index.result;
      out.push_back(std::move(index));
      append(loop.bodies[0], true, out);
    }
    if (!is_outermost) return true;
    outermost_ = false;
    if (!too_many_) return true;
    too_many_ = false;
    count_ = before_;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
    return false;
  }

  ir::Kernel& kernel_;
  std::vector<ValueId> renamed_;                         // by value
  std::vector<std::uint32_t> locals_;                    // by local
  std::vector<std::optional<std::uint64_t>> constants_;  // by value
  std::size_t count_ = 0, before_ = 0;                   // statements so far; before the outermost loop
  bool outermost_ = false;                               // inside of a loop that is being written out
  bool too_many_ = false;                                // that loop has too many statements
};

}  // namespace

void unroll_loops(ir::Kernel& kernel, const MergedLoops& merged) {
  Unrolling unrolling(kernel);
  for_each_merged_loop(kernel.body, merged, [&](Statement& loop) { unrolling.loop(loop); });
}

}  // namespace weir::passes
