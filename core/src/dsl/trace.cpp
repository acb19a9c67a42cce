// SPDX-License-Identifier: Apache-2.0
// Statements, values and messages of a trace.
#include "dsl/trace.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <weir/error.hpp>
#include <weir/program.hpp>

#include "dsl/make_program.hpp"
#include "dsl/names.hpp"
#include "foreign_text.hpp"
#include "ir/verifier.hpp"

namespace weir::detail {

namespace {
thread_local Trace* current_trace = nullptr;
constexpr std::size_t max_reports = 50;  // the limit of the verifier

/// The part of this thread's stack that is left to what a traced function calls besides the tracer. Empty if
/// the system does not tell.
struct StackReserve {
  std::uintptr_t begin = 0, end = 0;
};

StackReserve find_stack_reserve() noexcept {
  constexpr std::size_t most = 256 * 1024;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* lowest = nullptr;
  std::size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  if (!known) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(lowest);
  return {begin, begin + std::min(most, size / 4)};
}

}  // namespace

std::string at(const Where& where) {
  return where.line() == 0 ? "an unknown line"
                           : std::string(where.file_name()) + ":" + std::to_string(where.line());
}

Trace::Trace(const KernelSource& source) : where_(source.where), last_(source.where) {
  if (current_trace != nullptr) {
    const std::string message = at(where_) + ": kernel '" + std::string(source.name) +
                                "' is made inside kernel '" + current_trace->kernel_.name +
                                "', which began at " + at(current_trace->where_) +
                                ": make it before that kernel, or call a function instead";
    throw Error(ErrorCode::kernel, message, std::string(source.name), where_);
  }
  if (source.min_resident_threads > ir::max_resident_threads) {
    const std::string message = at(where_) + ": kernel '" + std::string(source.name) +
                                "': min_resident_threads is " + std::to_string(source.min_resident_threads) +
                                "; the most is " + std::to_string(ir::max_resident_threads) +
                                ": write a smaller number";
    throw Error(ErrorCode::kernel, message, std::string(source.name), where_);
  }
  kernel_.name = source.name;
  // Where the interpreter runs the kernel, it checks all indices.
  const bool checks = source.check_bounds || source.debug || is_named_for_debugging(kernel_.name);
  kernel_.options = {source.fast_math,
                     checks,
                     !source.fusion,
                     !source.phases,
                     !source.concurrency,
                     source.deterministic,
                     source.min_resident_threads};
  id_ = remember_kernel(kernel_.name, where_);
  // Once for each thread: for the first one, the system reads the list of mappings.
  static thread_local const StackReserve reserve = find_stack_reserve();
  const auto [begin, end] = reserve;
  stack_reserve_begin_ = begin;
  stack_reserve_end_ = end;
  current_trace = this;
}

Trace::~Trace() {
  current_trace = nullptr;
}

Trace& Trace::current(std::string_view what, const Where& where) {
  if (current_trace != nullptr) return *current_trace;
  throw Error(
      ErrorCode::kernel,
      at(where) + ": " + std::string(what) +
          " was used outside a kernel: values of the kernel language exist only while the lambda of a "
          "Kernel runs in its constructor, and on that thread",
      "", where);
}

Trace* Trace::find(std::uint32_t id) noexcept {
  return current_trace != nullptr && current_trace->id_ == id ? current_trace : nullptr;
}

namespace {

/// Parameters of the lambda and values that it returns.
std::size_t lambda_parameters(const KernelSource& source) {
  std::size_t count = source.parameter_count;
  for (std::size_t s = 0; s < source.struct_count; ++s) count -= source.structs[s].type->members.size();
  return count;
}

/// The name of a parameter of the lambda that is given none: "p0" for the first; "result" or "result_0" for a
/// returned value.
std::string usual_name(const KernelSource& source, std::size_t parameter) {
  const std::size_t own = lambda_parameters(source) - source.returned_count;
  if (parameter < own) return "p" + std::to_string(parameter);
  return source.returned_count == 1 ? "result" : "result_" + std::to_string(parameter - own);
}

/// Names of the IR's parameters. A struct array 'x' has the size 'x_size' and the members 'x_0', 'x_1', ...
std::vector<std::string> parameter_names(const KernelSource& source) {
  std::vector<std::string> names;
  const std::span structs(source.structs, source.struct_count);
  auto array = structs.begin();
  for (std::size_t given = 0; names.size() < source.parameter_count; ++given) {
    const bool is_given = given < source.parameter_name_count;
    std::string name = is_given ? source.parameter_names[given] : usual_name(source, given);
    while (!is_given && std::find(names.begin(), names.end(), name) != names.end()) name += '_';
    if (array == structs.end() || array->first != names.size()) {
      names.push_back(name);
      continue;
    }
    names.push_back(name + "_size");
    for (std::size_t m = 0; m < array->type->members.size(); ++m)
      names.push_back(name + "_" + std::to_string(m));
    ++array;
  }
  return names;
}

}  // namespace

ir::Kernel Trace::run(const KernelSource& source) {
  std::vector<std::vector<Handle>> arguments(source.parameter_count);
  std::vector<const Handle*> components(source.parameter_count);
  const std::vector<std::string> names = parameter_names(source);
  open(BlockKind::body, {}, 0, where_);
  for (std::size_t p = 0; p < source.parameter_count; ++p) {
    const ParameterType& type = source.parameters[p];
    ir::Parameter parameter;
    parameter.name = names[p];
    parameter.kind = type.is_array ? ir::Parameter::Kind::array : ir::Parameter::Kind::scalar;
    parameter.element = type.element;
    parameter.rank = type.rank;
    kernel_.parameters.push_back(parameter);
    if (type.is_array) continue;
    for (std::size_t component = 0; component < type.element.components(); ++component) {
      ir::Statement argument = statement_of(ir::Op::argument, type.element.scalar);
      argument.index = static_cast<std::uint32_t>(p);
      argument.component = static_cast<std::uint8_t>(component);
      arguments[p].push_back(append(std::move(argument), where_));
    }
    components[p] = arguments[p].data();
  }
  if (source.parameter_name_count > lambda_parameters(source)) {
    report("KernelOptions::parameter_names has " + std::to_string(source.parameter_name_count) +
               " names for " + std::to_string(lambda_parameters(source)) +
               " parameters and returned values: remove the excess names",
           where_);
  }

  source.body(source.lambda, id_, components.data());
  if (out_of_memory_) throw std::bad_alloc();
  if (unfinished_ && diagnostics_.empty())
    report(
        "an exception that the kernel's lambda caught left this condition or reduction without a value: "
        "catch it inside, or let it leave the lambda",
        *unfinished_);

  kernel_.body = std::move(stack_.front().block);
  for (ir::Parameter& parameter : kernel_.parameters) parameter.location = locate(where_);
  kernel_.value_count = static_cast<std::uint32_t>(values_.size());
  kernel_.local_count = static_cast<std::uint32_t>(locals_.size());
  if (diagnostics_.empty()) check();
  if (!diagnostics_.empty()) refuse();
  return std::move(kernel_);
}

// Adds the diagnostics of the IR verifier to those of the tracer.
void Trace::check() {
  for (const ir::Diagnostic& diagnostic : ir::verify(kernel_)) {
    diagnostics_.push_back({where_, diagnostic.message, ir::describe(kernel_, diagnostic.location)});
  }
}

void Trace::report(std::string message, const Where& where) {
  if (diagnostics_.size() < max_reports)
    diagnostics_.push_back({known(where), std::move(message), at(known(where))});
}

void Trace::refuse() const {
  std::string text = "kernel '" + without_control_characters(kernel_.name) + "' cannot be built:";
  for (const Diagnostic& diagnostic : diagnostics_)
    text += "\n  " + diagnostic.place + ": " + diagnostic.message;
  throw Error(ErrorCode::kernel, text, kernel_.name, diagnostics_.front().where);
}

ir::Location Trace::locate(const Where& where) {
  if (where.line() != 0) last_ = where;
  // g++ reports the closing line of a kernel's definition, clang the first line. The first statement is on or
  // near the first line.
  if (where.line() != 0 && where.line() < where_.line() &&
      where.file_name() == std::string_view(where_.file_name()))
    where_ = where;
  const char* file = last_.file_name();
  if (file != last_file_) {
    const auto found = std::find(kernel_.files.begin(), kernel_.files.end(), file);
    last_file_index_ = static_cast<std::uint32_t>(found - kernel_.files.begin());
    if (found == kernel_.files.end()) kernel_.files.emplace_back(file);
    last_file_ = file;
  }
  return {last_file_index_, last_.line(), last_.column()};
}

Handle Trace::add_value(std::uint32_t block, const Where& where) {
  values_.push_back({block, known(where)});
  return {id_, static_cast<std::uint32_t>(values_.size() - 1)};
}

// Each call of a function adds its statements. A function that calls itself under an if_ or select() would
// do so without end, because the condition has no value while the kernel is built. Threads of a program may
// run on other stacks than the system knows of; these are not checked.
void Trace::check_stack(const Where& where) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here < stack_reserve_begin_ || here >= stack_reserve_end_) [[likely]]
    return;
  stack_reserve_end_ = 0;  // what runs during the exception may add statements
  report(
      "functions of the kernel call themselves until this thread's stack is full: no value of the kernel "
      "ends a recursion; write a loop, such as while_(), or let a number of the host end it",
      where);
  refuse();
}

Handle Trace::append(ir::Statement statement, const Where& where) {
  check_stack(where);
  statement.location = locate(where);
  check_between_blocks(statement, where);
  Handle result;
  if (ir::info(statement.op).result != ir::ResultRule::none) {
    result = add_value(stack_.back().id, where);
    statement.result = result.value;
  }
  stack_.back().block.statements.push_back(std::move(statement));
  return result;
}

Handle Trace::constant(ScalarType type, std::uint64_t bits, const Where& where) {
  ir::Statement statement = statement_of(ir::Op::constant, type);
  statement.immediate = bits;
  return append(std::move(statement), where);
}

Handle Trace::operation(ir::Op op, ScalarType type, std::initializer_list<Handle> operands,
                        const Where& where) {
  ir::Statement statement = statement_of(op, type);
  for (const Handle& operand : operands) statement.operands.push_back(use(operand, where));
  return append(std::move(statement), where);
}

ir::ValueId Trace::use(const Handle& handle, const Where& where) {
  if (handle.trace != id_) {
    report("a value of another kernel, " + kernel_of_trace(handle.trace) +
               ", is used here: a kernel only computes with its own parameters and values computed from them",
           where);
    return ir::no_value;
  }
  if (handle.value >= values_.size()) return ir::no_value;  // computed from a value that was reported
  const ValueInfo& value = values_[handle.value];
  if (!is_open(value.block)) {
    report("a value made at " + at(value.made) +
               " is used after the loop or branch that it belongs to has ended: keep it in a Var or an array",
           where);
    return ir::no_value;
  }
  return handle.value;
}

bool Trace::owns_array(std::uint32_t trace, const Where& where) {
  if (trace == id_) return true;
  report("an array of another kernel, " + kernel_of_trace(trace) +
             ", is used here: make it a View parameter of this kernel too",
         where);
  return false;
}

std::uint32_t Trace::add_string(std::string_view text) {
  const auto found = std::find(kernel_.strings.begin(), kernel_.strings.end(), text);
  if (found == kernel_.strings.end()) kernel_.strings.emplace_back(text);
  return static_cast<std::uint32_t>(std::find(kernel_.strings.begin(), kernel_.strings.end(), text) -
                                    kernel_.strings.begin());
}

std::uint32_t Trace::add_format(std::string_view text) {
  kernel_.strings.emplace_back(text);
  return static_cast<std::uint32_t>(kernel_.strings.size() - 1);
}

ir::Kernel trace_kernel(const KernelSource& source) {
  Trace trace(source);
  return trace.run(source);
}

}  // namespace weir::detail
