// SPDX-License-Identifier: Apache-2.0
#include "aimed_loops.hpp"

#include <algorithm>

#include "ir/groups.hpp"

namespace weir::test {

void AimedLoops::clear_sums(Block& out) {
  sums_.clear();
  for (std::size_t n = 1 + c_.below(2); n > 0; --n) {
    const ScalarType type = real();
    sums_.push_back(counter(type, 1 + static_cast<std::int64_t>(c_.below(3))));
    Statement s = access_of(Op::store, sums_.back(), {number(out, 0), number_of(out, type, 0)});
    out.statements.push_back(std::move(s));
  }
}

void AimedLoops::add_to_sum(Block& out, std::uint32_t p) {
  const ScalarType type = k_.parameters[p].element.scalar;
  const std::size_t visible = values_.size();
  const ValueId any = fresh(out, ScalarType::u32);
  const ValueId few = binary(out, Op::bit_and, ScalarType::u32, any, number_of(out, ScalarType::u32, 63));
  Statement cast = make(Op::cast, type);
  cast.operands = {few};
  const ValueId by = emit(out, std::move(cast));
  Statement s = access_of(Op::atomic, p, {number(out, 0), by});
  s.immediate = static_cast<std::uint64_t>(c_.chance(3) ? ir::AtomicKind::sub : ir::AtomicKind::add);
  emit(out, std::move(s));
  values_.resize(visible);
}

void AimedLoops::neighbours(Block& out, std::size_t bytes) {
  min_size_ = bytes;
  std::vector<ScalarType> types;
  for (const ScalarType type : all_types)
    if (size_of(type) == bytes) types.push_back(type);
  const ScalarType type = types[c_.below(types.size())];
  ValueId value = loaded(out, input(type, loop_.indices.size()), 0, 0);
  if (c_.chance(2)) value = through_variable(out, value, type);
  if (c_.chance(2)) keep(out, value, type);
}

void AimedLoops::rows(Block& out, bool packets, bool four_bytes_too) {
  static constexpr ScalarType wide[] = {ScalarType::f64, ScalarType::i64, ScalarType::f32, ScalarType::u32};
  // Packets of 8-byte elements are the narrowest, which leaves room for more statements.
  const std::size_t most = four_bytes_too ? 4 : 2;
  const ScalarType type = packets || c_.chance(2) ? wide[c_.below(most)] : arithmetic();
  if (packets) min_size_ = size_of(type);
  const std::uint32_t p = input(type, loop_.indices.size());
  const std::int64_t first = static_cast<std::int64_t>(c_.below(2));
  ValueId value = loaded(out, p, first, 0);
  const bool variable = c_.chance(2);
  if (variable) value = through_variable(out, value, type);
  const ValueId below = loaded(out, p, first + 1 + static_cast<std::int64_t>(c_.below(2)),
                               packets ? 0 : static_cast<std::int64_t>(c_.below(3)));
  value = binary(out, c_.chance(2) ? Op::add : Op::max, type, value, below);
  if (variable) value = through_variable(out, value, type);
  keep(out, value, type);
}

void AimedLoops::rewrite(Block& out, ScalarType type, const std::vector<std::uint32_t>& arrays, ValueId own) {
  const auto value = [&](Block& block) {
    const auto loaded = [&] {
      return emit(block, access_of(Op::load, arrays[c_.below(arrays.size())], {own}));
    };
    const ValueId a = loaded();
    return binary(block, c_.chance(2) ? Op::add : Op::sub, type, a,
                  c_.chance(3) ? fresh(block, type) : loaded());
  };
  const auto store = [&](Block& block) {
    const ValueId stored = value(block);
    block.statements.push_back(access_of(Op::store, arrays[c_.below(arrays.size())], {own, stored}));
  };
  for (std::size_t n = 2 + c_.below(5); n > 0; --n) {
    if (!c_.chance(3)) {
      store(out);
      continue;
    }
    const ValueId a = value(out);
    Statement s = make(Op::if_);
    s.operands = {binary(out, Op::gt, ScalarType::boolean, a, fresh(out, type))};
    s.bodies.resize(2);
    for (Block& body : s.bodies) {
      const Scope scope = enter();
      store(body);
      leave(scope);
      if (c_.chance(2)) break;
    }
    out.statements.push_back(std::move(s));
  }
}

void AimedLoops::divided_loop() {
  used_.clear();
  const ScalarType type = arithmetic();
  const std::uint32_t p = input(type, 1);
  const std::int64_t over = extents_[p][0] - full_[1][0];
  const std::size_t visible = values_.size();
  Statement s = make(Op::parallel);
  s.operands.push_back(number(k_.body, 0));
  const ValueId all = extent(k_.body, p, 0);
  s.operands.push_back(over == 0 ? all
                                 : binary(k_.body, Op::sub, ScalarType::i64, all, number(k_.body, over)));
  values_.resize(visible);
  const ValueId end = s.operands[1];
  over_indices(k_.body, std::move(s), 1, [&](Block& block) {
    loop_.ends.push_back(end);
    Statement branch = make(Op::if_);
    branch.operands = {condition(block)};
    branch.bodies.resize(2);
    const Scope inner = enter();
    Block& reached = branch.bodies[0];
    const ValueId a = chosen_element(reached, type);
    keep(reached, binary(reached, Op::sub, type, a, fresh(reached, type)), type);
    leave(inner);
    block.statements.push_back(std::move(branch));
  });
}

void AimedLoops::rewritten_rows() {
  used_.clear();
  const ScalarType type = arithmetic();
  const auto width = static_cast<std::int64_t>(2 + c_.below(7));
  const std::int64_t height = c_.chance(2) ? 1 : static_cast<std::int64_t>(1 + c_.below(8));
  std::vector<std::uint32_t> arrays;
  for (std::size_t n = 2 + c_.below(3); n > 0; --n) {
    arrays.push_back(add_array(Role::output, type, 1, ElementType::Shape::scalar));
    arrays_.pop_back();  // no other statement accesses it
  }
  const std::size_t visible = values_.size();
  Statement s = make(Op::parallel);
  const auto dimension = [&](ValueId end) {
    s.operands.push_back(number(k_.body, 0));
    s.operands.push_back(end);
  };
  const ValueId inside = binary(k_.body, Op::sub, ScalarType::i64, extent(k_.body, arrays[0], 0),
                                number(k_.body, extents_[arrays[0]][0] - full_[1][0]));
  dimension(binary(k_.body, Op::div, ScalarType::i64, inside, number(k_.body, width * height)));
  const bool group = c_.chance(3);
  if (group) {
    if (height > 1) dimension(number(k_.body, height));
    dimension(number(k_.body, width));
    std::vector<std::uint64_t> threads{static_cast<std::uint64_t>(width)};
    if (height > 1) threads.insert(threads.begin(), static_cast<std::uint64_t>(height));
    ir::set_group(s, threads);
  }
  values_.resize(visible);
  const auto inner = [&](Block& out, ValueId outer, std::int64_t count, const auto& body) {
    const auto join = [&](Block& at, ValueId number_in_row) {
      const ValueId first = binary(at, Op::mul, ScalarType::i64, outer, number(at, count));
      body(at, binary(at, Op::add, ScalarType::i64, first, number_in_row));
    };
    if (count == 1) return body(out, outer);
    if (group) {
      index(out);
      return join(out, out.arguments.back());
    }
    Statement row = make(Op::for_);
    row.operands = {number(out, 0), number(out, count), number(out, 1)};
    const Scope within_row = enter();
    Block& each = row.bodies.emplace_back();
    index(each);
    join(each, each.arguments.back());
    leave(within_row);
    out.statements.push_back(std::move(row));
  };
  over_indices(k_.body, std::move(s), 1, [&](Block& block) {
    inner(block, loop_.indices[0], height, [&](Block& out, ValueId row) {
      inner(out, row, width, [&](Block& at, ValueId own) { rewrite(at, type, arrays, own); });
    });
  });
}

void AimedLoops::wide_add(Block& out) {
  static constexpr ScalarType types[] = {ScalarType::f32, ScalarType::i32, ScalarType::u32,
                                         ScalarType::u8,  ScalarType::i16, ScalarType::f64};
  const ScalarType type = types[c_.below(6)];
  const std::uint32_t p = input(type, loop_.indices.size());
  const ValueId a = loaded(out, p, 0, 0);
  const ValueId b = loaded(out, p, 0, 1);
  keep(out, binary(out, Op::add, type, a, b), type);
}

void AimedLoops::wide_sum(Block& out) {
  const std::uint32_t p = input(ScalarType::u32, 1);
  const std::int64_t rounds = std::min<std::int64_t>(full_[1][0], 9 + std::int64_t(c_.below(30)));
  sequential(
      out, rounds, false,
      [&](Block& body, ValueId k, std::uint32_t sum) {
        const ValueId element = emit(body, access_of(Op::load, p, {k}));
        add_to(body, sum, ScalarType::u32, element);
      },
      ScalarType::u32);
}

template <class F>
void AimedLoops::sequential(Block& out, std::int64_t rounds, bool constant, F f, ScalarType type) {
  const std::uint32_t id = local(out, type);
  ValueId high = number(out, rounds);
  if (!constant) {
    // The number of rounds is unknown at compile time.
    Statement s = make(Op::argument, ScalarType::i64);
    s.index = scalar(ScalarType::i64);
    const ValueId any = emit(out, std::move(s));
    const ValueId by = binary(out, Op::bit_and, ScalarType::i64, any, number(out, 1));
    high = binary(out, Op::sub, ScalarType::i64, high, by);
  }
  Statement s = make(Op::for_);
  const ValueId low = number(out, 0);
  s.operands = {low, high, number(out, 1)};
  const Scope scope = enter();
  Block body;
  index(body);
  f(body, body.arguments.back(), id);
  s.bodies.push_back(std::move(body));
  leave(scope);
  out.statements.push_back(std::move(s));
  Statement get = make(Op::get, type);
  get.index = id;
  keep(out, emit(out, std::move(get)), type);
}

void AimedLoops::add_to(Block& body, std::uint32_t sum, ScalarType type, ValueId value) {
  Statement get = make(Op::get, type);
  get.index = sum;
  const ValueId before = emit(body, std::move(get));
  Statement set = make(Op::set, type);
  set.index = sum;
  set.operands = {binary(body, Op::add, type, before, value)};
  body.statements.push_back(std::move(set));
}

void AimedLoops::around_loop(Block& out, Kind inserted, InnerLoop kind) {
  static constexpr ScalarType types[] = {ScalarType::f32, ScalarType::u32, ScalarType::f64, ScalarType::i64};
  const ScalarType type = types[c_.below(4)];
  const std::size_t rank = loop_.indices.size();
  const bool before = c_.chance(2), inside = kind != InnerLoop::lane_loop && c_.chance(2);
  if (before && inserted != kind_of(Op::for_)) insert(out, inserted);
  const std::uint32_t same = input(type, 1), own = input(type, rank);
  const std::int64_t most = extents_[same][0] - 1;
  const std::int64_t rounds = kind == InnerLoop::staged_loop
                                  ? std::min<std::int64_t>(most, 33 + std::int64_t(c_.below(120)))
                                  : std::min<std::int64_t>(most, 1 + std::int64_t(c_.below(9)));
  const bool constant = kind != InnerLoop::staged_loop && c_.chance(2);
  sequential(
      out, rounds, constant,
      [&](Block& body, ValueId k, std::uint32_t sum) {
        // Only elements at the loop's index are staged.
        const ValueId at =
            kind == InnerLoop::shared_loop ? binary(body, Op::add, ScalarType::i64, k, number(body, 1)) : k;
        ValueId element = emit(body, access_of(Op::load, same, {at}));
        if (c_.chance(2)) {
          const ValueId factor = loaded(body, own, 0, c_.chance(2) ? 1 : 0);
          element = binary(body, Op::mul, type, element, factor);
        }
        add_to(body, sum, type, element);
        if (inside) insert(body, inserted);
      },
      type);
  if ((!before && !inside) || c_.chance(4)) insert(out, inserted);
}

}  // namespace weir::test
