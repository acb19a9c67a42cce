// SPDX-License-Identifier: Apache-2.0
#include "compilation/canonical_request.hpp"

#include <concepts>
#include <unordered_map>
#include <vector>

#include "compilation/fields.hpp"
#include "ir/groups.hpp"

// Used header-only, so that libweir needs no library for it at run time.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir::compilation {
namespace {

/// Integers as sequences of seven bits, because most are small.
void append_number(std::string& bytes, std::uint64_t value) {
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  bytes += static_cast<char>(value);
}

/// The numbers of values, locals or parameters by first use.
class Numbers {
 public:
  std::size_t size() const { return known_.size(); }
  std::uint64_t operator[](std::uint32_t id) { return known_.try_emplace(id, known_.size()).first->second; }

 private:
  std::unordered_map<std::uint32_t, std::uint64_t> known_;
};

bool names_parameter(ir::Op op) {
  using enum ir::Op;
  return op == argument || op == extent || op == load || op == store || op == atomic;
}

class Canonical {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  CanonicalRequest take() { return {std::move(input_), XXH3_64bits(lines_.data(), lines_.size())}; }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::integral<T> || std::is_enum_v<T>)
      append_number(input_, static_cast<std::uint64_t>(value));
    else
      fields(*this, value);
  }
  void put(const std::string& text) {
    append_number(input_, text.size());
    input_ += text;
  }
  template <class T>
  void put(const std::vector<T>& all) {
    append_number(input_, all.size());
    for (const T& one : all) put(one);
  }

  void put(const ir::Kernel& kernel) {
    const auto& [name, options, parameters, body, strings, algorithms, files, part, value_count,
                 local_count] = kernel;
    (void)name, (void)body, (void)strings, (void)algorithms, (void)part, (void)value_count, (void)local_count;
    put(options);
    kernel_ = &kernel;  // a parameter is described where a task uses it first
    for (const std::string& file : files) lines_ += file + '\0';
  }

  /// Without those that have done their work when the tasks were planned.
  void put(const ir::Options& options) {
    const auto& [fast_math, check_bounds, no_fusion, no_phases, no_concurrency, deterministic,
                 min_resident_threads] = options;
    (void)no_fusion, (void)no_phases, (void)no_concurrency, (void)deterministic;
    (*this)(fast_math, check_bounds, min_resident_threads);
  }

  void put_parameter(std::uint32_t parameter) {
    const std::size_t known = parameters_.size();
    append_number(input_, parameters_[parameter]);
    if (parameters_.size() != known) put(kernel_->parameters.at(parameter));
  }

  void put(const ir::TaskArgument& argument) {
    using Kind = ir::TaskArgument::Kind;
    const auto& [kind, parameter, index, type, offset, size] = argument;
    put(kind);
    if (kind == Kind::array || kind == Kind::extent || kind == Kind::scalar) put_parameter(parameter);
    (*this)(index, type, offset, size);
  }

  void put(const ir::Parameter& parameter) {
    const auto& [name, kind, element, rank, location] = parameter;
    (void)name, (void)location;
    (*this)(kind, element, rank);
  }

  void put(const ir::Task& task) {
    const auto& [name, kind, body, arguments, argument_bytes, value_count, local_count, cost, merged,
                 cooperative, read_by_others, partials_offset, result_offset, reduce_type, reduce_kind,
                 location] = task;
    (void)name, (void)value_count, (void)local_count;
    values_ = locals_ = {};
    (*this)(kind, body, arguments, argument_bytes, cost, merged, cooperative, read_by_others, partials_offset,
            result_offset, reduce_type, reduce_kind, location);
  }

  void put(const ir::Block& block) {
    const auto& [arguments, statements] = block;
    append_number(input_, arguments.size());
    for (const ir::ValueId id : arguments) put_value(id);
    put(statements);
  }

  void put(const ir::Statement& statement) {
    const auto& [op, type, component, result, index, immediate, operands, bodies, location] = statement;
    (*this)(op, type, component, immediate);
    if (ir::names_local(statement))
      append_number(input_, locals_[index]);
    else if (names_parameter(op))
      put_parameter(index);
    else if (op != ir::Op::assert_ && op != ir::Op::print)  // whose texts the running program has
      append_number(input_, index);
    append_number(input_, operands.size());
    for (const ir::ValueId id : operands) put_value(id);
    put_value(result);
    (*this)(bodies, location);
  }

  void put(const ir::Location& location) {
    const auto& [file, line, column] = location;
    for (const std::uint32_t number : {file, line, column}) append_number(lines_, number);
  }

  /// 0 means none.
  void put_value(ir::ValueId id) { append_number(input_, id == ir::no_value ? 0 : values_[id] + 1); }

  std::string input_, lines_;
  Numbers values_, locals_;
  Numbers parameters_;  // of all tasks
  const ir::Kernel* kernel_ = nullptr;
};

}  // namespace

CanonicalRequest canonical_request(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                                   const codegen::Target& target) {
  Canonical canonical;
  canonical(target, kernel, std::uint64_t{tasks.size()});
  for (const ir::Task* task : tasks) canonical(*task);
  return canonical.take();
}

}  // namespace weir::compilation
