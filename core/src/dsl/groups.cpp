// SPDX-License-Identifier: Apache-2.0
// Group loops, the memory that a group shares, and exchange between its threads.
#include "dsl/trace.hpp"
#include "ordinals.hpp"

namespace weir::detail {

void open_group(Scope& scope, const Bounds* bounds, std::size_t groups, const std::uint64_t* extents,
                std::size_t threads, Handle* indices, Where where) {
  Trace::current("group_for", where).open_group(scope, bounds, groups, extents, threads, indices, where);
}

Place emit_shared(ScalarType type, std::size_t components, std::uint64_t count, Where where) {
  return Trace::current("Shared", where).make_local(type, components, count, where, ir::Op::shared);
}

void emit_dimension_check(const Handle& index, std::uint64_t extent, std::size_t dimension, Where where) {
  Trace::current("Shared", where)
      .check_index(
          index, extent,
          "an index is outside the " + std::string(ordinals[dimension]) + " dimension of a Shared array",
          where);
}

void emit_barrier(std::uint32_t width, Where where) {
  ir::Statement barrier = statement_of(ir::Op::barrier);
  barrier.immediate = width;
  Trace::current(width == 0 ? "barrier" : "subgroup_barrier", where).append(std::move(barrier), where);
}

void emit_shuffle(ScalarType type, const Handle* values, std::size_t components, std::uint32_t width,
                  Handle lane, Handle* results, Where where) {
  Trace& trace = Trace::current("an exchange between threads", where);
  const Place place = trace.make_local(type, components, 1, where);
  for (std::size_t i = 0; i < components; ++i) trace.set_local(place, i, type, values[i], where);
  for (std::size_t i = 0; i < components; ++i) {
    ir::Statement shuffle = statement_of(ir::Op::shuffle, type);
    shuffle.index = place.id + static_cast<std::uint32_t>(i);
    shuffle.immediate = width;
    shuffle.operands = {trace.use(lane, where)};
    results[i] = trace.append(std::move(shuffle), where);
  }
}

Handle emit_ballot(const Handle& value, std::uint32_t width, Where where) {
  Trace& trace = Trace::current("an exchange between threads", where);
  const Place place = trace.make_local(ScalarType::boolean, 1, 1, where);
  trace.set_local(place, 0, ScalarType::boolean, value, where);
  ir::Statement ballot = statement_of(ir::Op::ballot, ScalarType::u32);
  ballot.index = place.id;
  ballot.immediate = width;
  return trace.append(std::move(ballot), where);
}

Handle emit_thread_number(std::string_view caller, Where where) {
  return Trace::current(caller, where).thread_number(caller, where);
}

}  // namespace weir::detail
