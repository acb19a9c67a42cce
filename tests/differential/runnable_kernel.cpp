// SPDX-License-Identifier: Apache-2.0
#include "runnable_kernel.hpp"

#include <algorithm>

#include "statements.hpp"

namespace weir::test {

namespace {

class Generator : private RandomStatements {
 public:
  explicit Generator(Choices& choices) : RandomStatements(choices) {}

  RunnableKernel run() {
    static constexpr const char* names[] = {
        "k", "step", "a name with \"quotes\"", "1st", "gr\xc3\xbc\xc3\x9f", "main"};
    k_.name = names[c_.below(6)];
    k_.options.check_bounds = c_.chance(4);
    k_.files = {"random.cpp", "other.hpp"};
    may_fail_ = c_.chance(4);
    arrays();
    budget_ = 20 + static_cast<int>(c_.below(c_.chance(20) ? 1500 : 180));
    while (budget_ > 0) top(k_.body, true);
    publish(k_.body);
    return {std::move(k_), std::move(extents_)};
  }

 private:
  void top(Block& out, bool body) {
    switch (c_.below(body ? 8 : 6)) {
      case 0:
      case 1:
        task_loop(out, Op::parallel);
        break;
      case 2:
        task_loop(out, Op::reduce);
        break;
      case 6:
        region(out);
        break;
      default:
        statement(out, Place{});
        break;
    }
  }

  // A written array belongs to one block of the region; the other blocks do not access it.
  void region(Block& out) {
    Statement s = make(Op::region);
    const std::size_t blocks = 1 + c_.below(4);
    for (Array& a : arrays_) a.owner = static_cast<int>(c_.below(blocks));
    for (Variable& v : variables_) v.owner = static_cast<int>(c_.below(blocks));
    for (std::size_t i = 0; i < blocks; ++i) {
      const Scope scope = enter();
      Block block;
      block_ = static_cast<int>(i);
      for (std::size_t n = c_.below(5); n > 0; --n) top(block, false);
      s.bodies.push_back(std::move(block));
      leave(scope);
    }
    block_ = -1;
    out.statements.push_back(std::move(s));
  }

  void bound(Block& out, std::vector<ValueId>& bounds, std::size_t rank) {
    static constexpr std::uint64_t counts[] = {40, 12, 6, 4};
    switch (c_.below(6)) {
      case 0:  // read on the device, or computed from such a value
        bounds.push_back(modulo(out, operand(out, ScalarType::i64), 5));
        bounds.push_back(modulo(out, operand(out, ScalarType::i64), counts[rank - 1]));
        break;
      case 1:  // also empty and backward
        bounds.push_back(number(out, static_cast<std::int64_t>(c_.below(9)) - 4));
        bounds.push_back(number(out, static_cast<std::int64_t>(c_.below(counts[rank - 1])) - 3));
        break;
      default: {
        bounds.push_back(number(out, c_.chance(3) ? static_cast<std::int64_t>(c_.below(4)) - 2 : 0));
        if (rank == 1 && c_.chance(3)) {
          bounds.push_back(number(out, static_cast<std::int64_t>(c_.below(c_.chance(4) ? 20000 : 3000))));
          return;
        }
        const Array& a = arrays_[c_.below(arrays_.size())];
        if (k_.parameters[a.parameter].rank == 0) {
          bounds.push_back(number(out, static_cast<std::int64_t>(c_.below(counts[rank - 1]))));
          return;
        }
        bounds.push_back(extent(out, a.parameter, c_.below(k_.parameters[a.parameter].rank)));
        break;
      }
    }
  }

  void task_loop(Block& out, Op op) {
    const std::size_t rank = 1 + (c_.chance(2) ? c_.below(4) : 0);
    std::vector<ValueId> bounds;
    for (std::size_t d = 0; d < rank; ++d) bound(out, bounds, rank);
    Statement s = make(op);
    s.operands = bounds;
    if (op == Op::reduce) {
      s.index = static_cast<std::uint32_t>(c_.below(ir::reduce_kind_count));
      do s.type = c_.chance(5) ? ScalarType::boolean : arithmetic();
      while (!ir::reduces(static_cast<ir::ReduceKind>(s.index), s.type));
    }
    const Scope scope = enter();
    for (Variable& v : variables_) v.in_loop = false;
    Block block;
    loop_ = {};
    for (std::size_t d = 0; d < rank; ++d) {
      index(block);
      loop_.indices.push_back(block.arguments.back());
      loop_.lows.push_back(bounds[2 * d]);
      loop_.ends.push_back(bounds[2 * d + 1]);
    }
    Place place;
    place.parallel = true;
    fill(block, place, 7);
    if (op == Op::parallel && !ends(block)) {
      store(block, place);
    } else if (op == Op::reduce && !ends(block)) {
      const ValueId yielded = operand(block, s.type);
      Statement yield = make(Op::yield);
      yield.operands = {yielded};
      block.statements.push_back(std::move(yield));
    }
    s.bodies.push_back(std::move(block));
    leave(scope);
    loop_ = {};
    for (Variable& v : variables_) v.in_loop = true;
    if (op == Op::reduce) {
      emit(out, std::move(s));
      publish(out);
    } else {
      out.statements.push_back(std::move(s));
    }
  }
};

}  // namespace

RunnableKernel runnable_kernel(Choices& choices) {
  return Generator(choices).run();
}

}  // namespace weir::test
