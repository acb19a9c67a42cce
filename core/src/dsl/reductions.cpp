// SPDX-License-Identifier: Apache-2.0
// Reductions: separate tasks where loops are parallel, otherwise a sequential loop with a variable.
#include <algorithm>
#include <bit>
#include <limits>

#include "dsl/names.hpp"
#include "dsl/trace.hpp"

namespace weir::detail {

namespace {

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return std::bit_cast<std::uint64_t>(value);
  }
}

std::uint64_t width_mask(ScalarType type) {
  return size_of(type) == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size_of(type))) - 1;
}

// The identity element of the reduction.
std::uint64_t identity(ir::ReduceKind kind, ScalarType type) {
  const bool is_min = kind == ir::ReduceKind::min;
  if (kind == ir::ReduceKind::all) return 1;
  if (kind == ir::ReduceKind::bit_and) return width_mask(type);
  if (kind != ir::ReduceKind::min && kind != ir::ReduceKind::max) return 0;
  if (type == ScalarType::f32) {
    const float infinity = std::numeric_limits<float>::infinity();
    return bits_of(is_min ? infinity : -infinity);
  }
  if (type == ScalarType::f64) {
    const double infinity = std::numeric_limits<double>::infinity();
    return bits_of(is_min ? infinity : -infinity);
  }
  const std::uint64_t mask = width_mask(type);
  if (!is_signed(type)) return is_min ? mask : 0;
  const std::uint64_t highest = mask >> 1;
  return is_min ? highest : ~highest & mask;
}

}  // namespace

void Trace::open_reduce(Scope& scope, std::string_view kind, ScalarType type, const Bounds* bounds,
                        std::size_t rank, Handle* indices, const Where& where) {
  ir::Statement loop = statement_of(ir::Op::reduce, type);
  loop.index = static_cast<std::uint32_t>(reduce_named(kind));
  loop.operands = bound_operands(bounds, rank, where);
  loop.location = locate(where);
  loop.result = add_value(stack_.back().id, where).value;
  open(BlockKind::reduce, std::move(loop), rank, where);
  for (std::size_t d = 0; d < rank; ++d) {
    indices[d] = argument(d);
    stack_.back().low.push_back(bounds[d].low);
    stack_.back().high.push_back(bounds[d].high);
  }
  scope.trace_ = id_;
  scope.depth_ = 1;
}

Handle Trace::close_reduce(Scope& scope, const Handle& value, const Where& where) {
  operation(ir::Op::yield, ScalarType::boolean, {value}, where);
  const Handle result{id_, stack_.back().owner.result};
  scope.close();
  return result;
}

bool Trace::has_effects(const ir::Block& block, std::uint32_t outermost) const {
  return std::any_of(block.statements.begin(), block.statements.end(), [&](const ir::Statement& s) {
    const bool writes = s.op == ir::Op::store || s.op == ir::Op::atomic || s.op == ir::Op::print ||
                        (s.op == ir::Op::set && locals_[s.index].block < outermost);
    return writes || s.op == ir::Op::philox ||
           std::any_of(s.bodies.begin(), s.bodies.end(),
                       [&](const ir::Block& body) { return has_effects(body, outermost); });
  });
}

void Trace::expect_no_effects(std::string_view caller, const Where& where) {
  if (!has_effects(stack_.back().block, stack_.back().id)) return;
  report(std::string(caller) +
             " evaluates its body more than once, so the body must not write, print or draw random "
             "numbers, but it does; "
             "store its values to an array in a range_for first",
         where);
}

Reduction::Reduction(std::string_view kind, ScalarType type, const Bounds* bounds, std::size_t rank,
                     Handle* indices, Where where)
    : kind_(kind), type_(type) {
  Trace& trace = Trace::current("a reduction", where);
  parallel_ = trace.at_task_level();
  if (parallel_) {
    trace.open_reduce(scope_, kind, type, bounds, rank, indices, where);
    return;
  }
  trace.expect_parallel("a reduction", where);
  accumulator_ = trace.make_local(type, 1, 1, where);
  const Handle start = trace.constant(type, identity(reduce_named(kind), type), where);
  trace.set_local(accumulator_, 0, type, start, where);
  trace.open_range(scope_, bounds, rank, indices, where);
  trace.forbid_break("reduction");
}

void Reduction::expect_no_effects(std::string_view caller, Where where) {
  Trace::current("a reduction", where).expect_no_effects(caller, where);
}

Handle Reduction::close(Handle value, Where where) {
  Trace& trace = Trace::current("a reduction", where);
  if (parallel_) return trace.close_reduce(scope_, value, where);
  const Handle sum = trace.get_local(accumulator_, 0, type_, where);
  const Handle next = trace.operation(ir::combining(reduce_named(kind_)), type_, {sum, value}, where);
  trace.set_local(accumulator_, 0, type_, next, where);
  scope_.close();
  return trace.get_local(accumulator_, 0, type_, where);
}

}  // namespace weir::detail
