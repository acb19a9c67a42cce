// SPDX-License-Identifier: Apache-2.0
// Algorithms on small matrices, as kernels write them: loops that read and write several local arrays, which
// stay in memory until a GPU's code is generated, among numbers such as zeros of both signs.
#include "aimed_statements.hpp"

namespace weir::test {

void AimedStatements::insert_local_matrices(Block& out) {
  LocalMatrices m;
  m.type = c_.chance(4) ? ScalarType::f64 : ScalarType::f32;
  m.side = static_cast<std::int64_t>(4 + c_.below(3));
  for (std::size_t n = 3 + c_.below(5); n > 0; --n) {
    Statement local = make(Op::local, m.type);
    local.index = k_.local_count++;
    local.immediate = static_cast<std::uint64_t>(m.side * m.side);
    m.arrays.push_back(local.index);
    out.statements.push_back(std::move(local));
  }
  const Scope scope = enter();
  // Zeros of both signs, NaNs, ones and others, which no compiler knows.
  const ValueId zero = number_of(out, m.type, 0);
  const ValueId minus_zero = number_of(out, m.type, std::uint64_t{1} << (8 * size_of(m.type) - 1));
  m.numbers = {zero, minus_zero};
  m.numbers.push_back(binary(out, Op::mul, m.type, element(out, m.type), zero));
  m.numbers.push_back(binary(out, Op::mul, m.type, element(out, m.type), minus_zero));
  m.numbers.push_back(unary(out, Op::cast, m.type, element(out, ScalarType::boolean)));
  if (c_.chance(2)) m.numbers.push_back(element(out, m.type));
  for (std::size_t n = 1 + c_.below(3); n > 0; --n) loop_over_matrices(out, m, 1);
  std::vector<ValueId> results;
  for (int n = 0; n < 4; ++n) {
    ValueId result = matrix_entry(out, m);
    if (c_.chance(2))  // a conversion that the hardware may combine with a product
      result = unary(out, Op::cast, m.type, unary(out, Op::cast, ScalarType::f16, result));
    results.push_back(result);
  }
  leave(scope);
  for (const ValueId result : results) keep(out, result, m.type);
}

ValueId AimedStatements::matrix_index(Block& out, const LocalMatrices& m) {
  const auto one = [&] {
    if (m.indices.empty() || c_.chance(6))
      return number(out, static_cast<std::int64_t>(c_.below(static_cast<std::size_t>(m.side))));
    return m.indices[c_.below(m.indices.size())];
  };
  const ValueId row =
      binary(out, Op::mul, ScalarType::i64, one(), number(out, static_cast<std::int64_t>(m.side)));
  return binary(out, Op::add, ScalarType::i64, row, one());
}

ValueId AimedStatements::matrix_entry(Block& out, const LocalMatrices& m) {
  if (c_.chance(5)) return m.numbers[c_.below(m.numbers.size())];
  Statement get = make(Op::get, m.type);
  get.index = m.arrays[c_.below(m.arrays.size())];
  get.operands = {matrix_index(out, m)};
  return emit(out, std::move(get));
}

void AimedStatements::set_matrix_entry(Block& out, const LocalMatrices& m) {
  static constexpr Op operations[] = {Op::sub, Op::sub, Op::add, Op::mul, Op::mul, Op::min, Op::max};
  static constexpr Op comparisons[] = {Op::lt, Op::gt, Op::le, Op::ge, Op::eq};
  const ValueId a = matrix_entry(out, m), b = matrix_entry(out, m);
  ValueId result;
  if (c_.chance(3)) {
    const ValueId which = binary(out, comparisons[c_.below(5)], ScalarType::boolean, a, b);
    const bool swapped = c_.chance(2);
    with_result(out, Op::select, m.type, {which, swapped ? b : a, swapped ? a : b});
    result = values_.back().id;
  } else if (c_.chance(8)) {
    result = unary(out, Op::neg, m.type, a);
  } else {
    result = binary(out, operations[c_.below(std::size(operations))], m.type, a, b);
  }
  Statement set = make(Op::set, m.type);
  set.index = m.arrays[c_.below(m.arrays.size())];
  set.operands = {matrix_index(out, m), result};
  out.statements.push_back(std::move(set));
}

void AimedStatements::loop_over_matrices(Block& out, const LocalMatrices& m, int more_loops) {
  Statement s = make(Op::for_);
  const ValueId low = m.indices.empty() || c_.chance(2) ? number(out, static_cast<std::int64_t>(c_.below(2)))
                                                        : m.indices.back();
  s.operands = {low, number(out, m.side), number(out, 1)};
  const Scope scope = enter();
  Block body;
  index(body);
  LocalMatrices inside = m;
  inside.indices.push_back(body.arguments.back());
  for (std::size_t n = 1 + c_.below(3); n > 0; --n) {
    if (more_loops > 0 && c_.chance(2))
      loop_over_matrices(body, inside, more_loops - 1);
    else
      set_matrix_entry(body, inside);
  }
  s.bodies.push_back(std::move(body));
  leave(scope);
  out.statements.push_back(std::move(s));
}

}  // namespace weir::test
