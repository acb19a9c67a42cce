// SPDX-License-Identifier: Apache-2.0
// The exported functions called by the header templates.
#include <cstdio>

#include "dsl/names.hpp"
#include "dsl/trace.hpp"
#include "ir/print_format.hpp"

namespace weir::detail {

Handle emit_constant(ScalarType type, std::uint64_t bits, Where where) {
  return Trace::current("a constant of the kernel language", where).constant(type, bits, where);
}

Handle emit(std::string_view op, ScalarType type, const Handle* operands, std::size_t count, Where where) {
  Trace& trace = Trace::current("a traced value", where);
  ir::Statement statement = statement_of(op_named(op), type);
  for (std::size_t i = 0; i < count; ++i) statement.operands.push_back(trace.use(operands[i], where));
  return trace.append(std::move(statement), where);
}

Handle emit_math(std::string_view function, ScalarType type, const Handle* operands, std::size_t count,
                 Where where) {
  Trace& trace = Trace::current("a traced value", where);
  ir::Statement statement = statement_of(ir::Op::math, type);
  statement.index = math_named(function);
  for (std::size_t i = 0; i < count; ++i) statement.operands.push_back(trace.use(operands[i], where));
  return trace.append(std::move(statement), where);
}

Handle emit_extent(std::uint32_t array_trace, std::uint32_t parameter, std::size_t dimension, Where where) {
  Trace& trace = Trace::current("an array of a kernel", where);
  if (!trace.owns_array(array_trace, where)) return {trace.id(), ir::no_value};
  ir::Statement extent = statement_of(ir::Op::extent, ScalarType::i64);
  extent.index = parameter;
  extent.component = static_cast<std::uint8_t>(dimension);
  if (dimension >= max_rank) {
    trace.report("extent(" + std::to_string(dimension) +
                     ") names a dimension that the array does not have: pass one below its rank",
                 where);
    extent.component = 0;
  }
  return trace.append(std::move(extent), where);
}

Handle emit_load(const Place& place, std::size_t component, ScalarType type, Where where) {
  Trace& trace = Trace::current(
      place.kind == Place::Kind::local ? "a variable of a kernel" : "an array of a kernel", where);
  if (place.choice.count != 0) {
    Place part = place;
    part.choice = {};
    return trace.choose(
        place.choice, type,
        [&](std::size_t i) { return emit_load(part, i * place.choice.stride, type, where); }, where);
  }
  if (place.kind == Place::Kind::local) return trace.get_local(place, component, type, where);
  if (!trace.owns_array(place.trace, where)) return {trace.id(), ir::no_value};
  ir::Statement load = statement_of(ir::Op::load, type);
  load.index = place.id;
  load.component = static_cast<std::uint8_t>(place.component + component);
  for (std::size_t d = 0; d < place.rank; ++d) load.operands.push_back(trace.use(place.index[d], where));
  return trace.append(std::move(load), where);
}

void emit_store(const Place& place, std::size_t component, ScalarType type, Handle value, Where where) {
  Trace& trace = Trace::current(
      place.kind == Place::Kind::local ? "a variable of a kernel" : "an array of a kernel", where);
  if (place.choice.count != 0) {
    if (place.kind == Place::Kind::local && !trace.is_shared(place))
      return trace.set_chosen(place, type, value, where);
    return trace.branch_to_component(place, 0, place.choice.count, where, [&](const Place& part) {
      emit_store(part, component, type, value, where);
    });
  }
  if (place.kind == Place::Kind::local) return trace.set_local(place, component, type, value, where);
  if (!trace.owns_array(place.trace, where)) return;
  ir::Statement store = statement_of(ir::Op::store, type);
  store.index = place.id;
  store.component = static_cast<std::uint8_t>(place.component + component);
  for (std::size_t d = 0; d < place.rank; ++d) store.operands.push_back(trace.use(place.index[d], where));
  store.operands.push_back(trace.use(value, where));
  trace.append(std::move(store), where);
}

Handle emit_atomic(std::string_view kind, const Place& place, ScalarType type, Handle value, Handle expected,
                   Where where) {
  Trace& trace = Trace::current("an atomic", where);
  const bool shared = place.kind == Place::Kind::local && trace.is_shared(place);
  if (place.kind == Place::Kind::local && !shared) {
    trace.report("an atomic names a local variable, which only its own iteration sees: assign to it directly",
                 where);
    return {trace.id(), ir::no_value};
  }
  if (!shared && !trace.owns_array(place.trace, where)) return {trace.id(), ir::no_value};
  if (place.choice.count != 0) {
    const Place result = trace.make_local(type, 1, 1, where);
    trace.branch_to_component(place, 0, place.choice.count, where, [&](const Place& part) {
      trace.set_local(result, 0, type, emit_atomic(kind, part, type, value, expected, where), where);
    });
    return trace.get_local(result, 0, type, where);
  }
  const ir::AtomicKind what = atomic_named(kind);
  ir::Statement atomic = statement_of(shared ? ir::Op::shared_atomic : ir::Op::atomic, type);
  atomic.index = shared ? place.id + place.component : place.id;
  atomic.component = shared ? std::uint8_t{0} : place.component;
  atomic.immediate = static_cast<std::uint64_t>(what);
  for (std::size_t d = 0; d < place.rank; ++d) atomic.operands.push_back(trace.use(place.index[d], where));
  if (what == ir::AtomicKind::compare_exchange) atomic.operands.push_back(trace.use(expected, where));
  atomic.operands.push_back(trace.use(value, where));
  return trace.append(std::move(atomic), where);
}

void emit_assert(Handle condition, std::string_view message, Where where) {
  Trace& trace = Trace::current("assert_", where);
  ir::Statement assertion = statement_of(ir::Op::assert_);
  assertion.operands = {trace.use(condition, where)};
  assertion.index = trace.add_string(message);
  trace.append(std::move(assertion), where);
}

namespace {

/// The pieces of one argument: "{}" becomes "({}, {}, {})" for a Vec of 3, rows in parentheses for a Mat.
void expand(const ir::PrintPiece& piece, const PrintArgument& argument, std::vector<ir::PrintPiece>& out) {
  const auto text = [&](const char* literal) { out.push_back({false, literal}); };
  const bool vector = argument.is_vector || argument.is_matrix;
  for (std::uint32_t row = 0; row < argument.rows; ++row) {
    if (vector) text(row == 0 ? "(" : ", ");
    for (std::uint32_t column = 0; column < argument.columns; ++column) {
      if (argument.is_matrix) text(column == 0 ? "(" : ", ");
      out.push_back(piece);
    }
    if (argument.is_matrix) text(")");
  }
  if (vector) text(")");
}

}  // namespace

void emit_print(std::string_view format, const PrintArgument* arguments, std::size_t count, Where where) {
  Trace& trace = Trace::current("print", where);
  const ir::PrintFormat parsed = ir::parse_print_format(format);
  const std::string name = "the format \"" + std::string(format) + "\" of print ";
  if (!parsed.problem.empty()) return trace.report(name + parsed.problem, where);
  if (parsed.values() != count)
    return trace.report(name + "takes " + std::to_string(parsed.values()) +
                            (parsed.values() == 1 ? " value" : " values") + ", found " +
                            std::to_string(count) + "; write one {} for each value",
                        where);
  ir::Statement print = statement_of(ir::Op::print);
  std::vector<ir::PrintPiece> pieces;
  for (const ir::PrintPiece& piece : parsed.pieces) {
    if (!piece.is_value) {
      pieces.push_back(piece);
      continue;
    }
    expand(piece, *arguments, pieces);
    for (std::size_t i = 0; i < std::size_t{arguments->rows} * arguments->columns; ++i)
      print.operands.push_back(trace.use(arguments->components[i], where));
    ++arguments;
  }
  print.index = trace.add_format(ir::print_format_text(pieces));
  trace.append(std::move(print), where);
}

Place emit_local(ScalarType type, std::size_t components, std::uint64_t count, Where where) {
  return Trace::current("a Var or LocalArray", where).make_local(type, components, count, where);
}

void emit_random(Handle* words, std::size_t count, const Handle* element, Where where) {
  Trace::current("random", where).random(words, count, element, where);
}

void report(std::string_view message, Where where) {
  Trace::current("the kernel language", where).report(std::string(message), where);
}

namespace {

std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

void report_integer(const std::string& number, ScalarType type, Where where) {
  const std::string other = "other operand's type, " + std::string(to_string(type)) + ": ";
  if (is_float(type)) {
    report("the integer constant " + number + " has no exact value in the " + other +
               "write it with a decimal point",
           where);
  } else {
    report("the integer constant " + number + " does not fit the " + other +
               "write cast<T>(...) around the traced value, with a T that holds both",
           where);
  }
}

}  // namespace

void report_constant(std::int64_t number, ScalarType type, Where where) {
  report_integer(std::to_string(number), type, where);
}

void report_constant(std::uint64_t number, ScalarType type, Where where) {
  report_integer(std::to_string(number), type, where);
}

void report_constant(double number, ScalarType type, Where where) {
  report("the constant " + text_of(number) + " is too large for the other operand's type, " +
             std::string(to_string(type)) + ": write cast<double>(...) around the traced value",
         where);
}

void report_local_index(std::int64_t index, std::uint64_t count, std::string_view what, Where where) {
  report("index " + std::to_string(index) + " is outside " + std::string(what) + ", which has " +
             std::to_string(count) +
             (count == 1 ? " element: its index is 0"
                         : " elements: indices are 0 to " + std::to_string(count - 1)),
         where);
}

void expect_kernel(std::string_view what, Where where) {
  Trace::current(what, where);
}

void emit_break(Where where) {
  Trace::current("break_", where).leave_loop(ir::Op::break_, where);
}
void emit_continue(Where where) {
  Trace::current("continue_", where).leave_loop(ir::Op::continue_, where);
}

void Scope::close() noexcept {
  if (Trace* trace = Trace::find(trace_)) trace->close_scope(*this);
  trace_ = 0;
  depth_ = 0;
  function_ = region_ = false;
}

void open_range(Scope& scope, const Bounds* bounds, std::size_t rank, Handle* indices, Where where) {
  Trace::current("range_for", where).open_range(scope, bounds, rank, indices, where);
}

void open_for(Scope& scope, Handle low, Handle high, Handle step, Handle* index, Where where) {
  Trace& trace = Trace::current("for_", where);
  trace.open_for(scope, low, high, step, where);
  *index = trace.argument(0);
}

Handle open_repeat(Scope& scope, Handle count, Where where) {
  return Trace::current("repeat", where).open_repeat(scope, Trace::BlockKind::repeat_body, count, where);
}

Handle open_repeat_while(Scope& scope, Handle most, Where where) {
  return Trace::current("repeat_while", where)
      .open_repeat(scope, Trace::BlockKind::repeat_condition, most, where);
}

void open_repeat_body(Scope&, Handle condition, Where where) {
  Trace::current("repeat_while", where).open_repeat_body(condition, where);
}

void open_condition(Scope& scope, Where where) {
  Trace::current("while_", where).open_condition(scope, where);
}

void open_while(Scope& scope, Handle condition, Where where) {
  Trace::current("while_", where).open_while(scope, condition, where);
}

BranchPoint open_if(Scope& scope, Handle condition, Where where) {
  return Trace::current("if_", where).open_if(scope, condition, where);
}

void open_else(Scope& scope, const BranchPoint& branch, Where where) {
  Trace::current("else_", where).open_else(scope, branch, where);
}

void open_else_if(Scope& scope, BranchPoint& branch, Handle condition, Where where) {
  Trace::current("else_if", where).open_else_if(scope, branch, condition, where);
}

void open_stream_block(Scope& scope, bool conflicts_are_meant, Where where) {
  Trace::current("stream_parallel", where).open_stream_block(scope, conflicts_are_meant, where);
}

void open_stream_region(Scope& scope, Where where) {
  Trace::current("stream_region", where).open_stream_region(scope, where);
}

void open_function(Scope& scope, std::string_view name, Where where) {
  Trace::current("a weir::Function", where).open_function(scope, name, where);
}

}  // namespace weir::detail
