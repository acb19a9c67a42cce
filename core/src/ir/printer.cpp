// SPDX-License-Identifier: Apache-2.0
#include "ir/printer.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>
#include <utility>
#include <weir/element.hpp>
#include <weir/sdk/floating_point.hpp>

#include "ir/algorithm.hpp"
#include "ir/groups.hpp"
#include "ir/rules.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

namespace {

constexpr char hex_digits[] = "0123456789abcdef";

std::string hex(std::uint64_t bits) {
  char buffer[16];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr;
  return "0x" + std::string(buffer, end);
}

// The shortest decimal that reads back to the same value.
template <class T>
std::string shortest(T value) {
  const sdk::DefaultFloatingPoint floating_point;  // else denormals may be 0 for std::to_chars
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

template <class T>
std::string float_text(T value, std::uint64_t bits, std::uint64_t canonical_nan) {
  if (value != value) return bits == canonical_nan ? "nan" : "nan(" + hex(bits) + ")";
  return shortest(value);  // also "inf" and "-inf"
}

std::int64_t sign_extended(ScalarType type, std::uint64_t bits) {
  const unsigned unused = 64 - 8 * static_cast<unsigned>(size_of(type));
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

class Printer {
 public:
  Printer(const Kernel& kernel, std::uint32_t values, std::uint32_t locals, bool with_locations)
      : kernel_(kernel),
        with_locations_(with_locations),
        values_(std::min<std::size_t>(values, max_ids), no_value),
        locals_(std::min<std::size_t>(locals, max_ids), no_value) {}

  std::string kernel() {
    out_ = "weir-ir 1\nkernel " + quote(kernel_.name);
    if (kernel_.options.fast_math) out_ += " fast_math";
    if (kernel_.options.check_bounds) out_ += " check_bounds";
    if (kernel_.options.no_fusion) out_ += " no_fusion";
    if (kernel_.options.no_phases) out_ += " no_phases";
    if (kernel_.options.no_concurrency) out_ += " no_concurrency";
    if (kernel_.options.deterministic) out_ += " deterministic";
    if (const std::uint32_t threads = kernel_.options.min_resident_threads)
      out_ += " min_resident_threads " + std::to_string(threads);
    out_ += '\n';
    if (with_locations_) {
      for (const std::string& file : kernel_.files) out_ += "  file " + quote(file) + "\n";
    }
    for (const Parameter& parameter : kernel_.parameters) {
      out_ += "  param @" + parameter.name + " : ";
      const std::string element = to_string(parameter.element);
      if (parameter.kind == Parameter::Kind::array) {
        out_ += "array<" + element + ", " + std::to_string(parameter.rank) + ">";
      } else {
        out_ += element;
      }
      location(parameter.location);
      out_ += '\n';
    }
    block(kernel_.body);
    out_ += '\n';
    return std::move(out_);
  }

  KernelParts parts(std::span<const Statement* const> statements, std::span<const ValueId> values) {
    kernel();  // numbers the values
    KernelParts parts;
    out_.clear();
    for (const Statement* s : statements) {
      statement(*s);
      parts.statements.push_back(out_.substr(0, out_.find('\n')));
      out_.clear();
    }
    for (const ValueId id : values) {
      value(id);
      parts.values.push_back(std::exchange(out_, {}));
    }
    return parts;
  }

  std::string task(const Task& task) {
    static constexpr std::string_view kinds[] = {"serial", "parallel", "reduce_partial", "reduce_final",
                                                 "phases"};
    out_ = "task " + task.name + " " + std::string(kinds[static_cast<std::size_t>(task.kind)]);
    location(task.location);
    out_ += '\n';
    block(task.body);
    out_ += '\n';
    return std::move(out_);
  }

 private:
  void indent() { out_.append(2 * depth_, ' '); }

  // Values are numbered at their first appearance, which is their definition in a valid kernel.
  void define(ValueId id) {
    if (id < values_.size() && values_[id] == no_value) values_[id] = next_value_++;
    value(id);
  }

  void value(ValueId id) {
    out_ += '%';
    out_ += id < values_.size() && values_[id] != no_value ? std::to_string(values_[id]) : "?";
  }

  void define_local(std::uint32_t id) {
    if (id < locals_.size() && locals_[id] == no_value) locals_[id] = next_local_++;
    local(id);
  }

  void local(std::uint32_t id) {
    out_ += '$';
    out_ += id < locals_.size() && locals_[id] != no_value ? std::to_string(locals_[id]) : "?";
  }

  void parameter(std::uint32_t index) {
    out_ += '@';
    out_ += index < kernel_.parameters.size() ? kernel_.parameters[index].name : "?";
  }

  void component(const Statement& s) {
    const bool scalar = s.index < kernel_.parameters.size() &&
                        kernel_.parameters[s.index].element.shape == ElementType::Shape::scalar;
    if (!scalar || s.component != 0) out_ += "." + std::to_string(s.component);
  }

  void list(std::span<const ValueId> ids) {
    bool first = true;
    for (const ValueId id : ids) {
      if (!first) out_ += ", ";
      first = false;
      value(id);
    }
  }

  void subscript(std::span<const ValueId> indices) {
    if (indices.empty()) return;
    out_ += '[';
    list(indices);
    out_ += ']';
  }

  // `@x[%i, %j].component`, followed by the remaining operands: ", %v".
  void element(const Statement& s, std::size_t others) {
    const std::span<const ValueId> operands{s.operands};
    const std::size_t indices = operands.size() - std::min(others, operands.size());
    parameter(s.index);
    out_ += '[';
    list(operands.first(indices));
    out_ += ']';
    component(s);
    rest(operands.subspan(indices));
  }

  void rest(std::span<const ValueId> ids) {
    for (const ValueId id : ids) {
      out_ += ", ";
      value(id);
    }
  }

  void location(const Location& where) {
    if (!with_locations_ || where.line == 0) return;
    out_ += " !" + std::to_string(where.file) + ":" + std::to_string(where.line) + ":" +
            std::to_string(where.column);
  }

  void block(const Block& block) {
    out_ += "{\n";
    ++depth_;
    for (const Statement& s : block.statements) {
      indent();
      statement(s);
      out_ += '\n';
    }
    --depth_;
    indent();
    out_ += '}';
  }

  void arguments(const Block& block) {
    out_ += '(';
    bool first = true;
    for (const ValueId id : block.arguments) {
      if (!first) out_ += ", ";
      first = false;
      define(id);
    }
    out_ += ')';
  }

  void bounds(const Statement& s) {
    out_ += " in (";
    for (std::size_t i = 0; i < s.operands.size(); ++i) {
      if (i != 0) out_ += i % 2 == 0 ? ", " : " to ";
      value(s.operands[i]);
    }
    out_ += ')';
  }

  const Block& body(const Statement& s, std::size_t i) const {
    static const Block none;
    return i < s.bodies.size() ? s.bodies[i] : none;
  }

  ValueId operand(const Statement& s, std::size_t i) const {
    return i < s.operands.size() ? s.operands[i] : no_value;
  }

  void statement(const Statement& s) {
    if (s.result != no_value) {
      define(s.result);
      out_ += " = ";
    }
    if (!known(s.op)) {
      out_ += "?";
      return;
    }
    if (s.op == Op::algorithm) {
      out_ += print_algorithm(kernel_, s);
      location(s.location);
      return;
    }
    out_ += info(s.op).mnemonic;
    switch (s.op) {
      case Op::constant:
        out_ += ' ' + print_constant(s.type, s.immediate);
        break;
      case Op::argument:
        out_ += ' ';
        parameter(s.index);
        component(s);
        break;
      case Op::extent:
        out_ += ' ';
        parameter(s.index);
        out_ += ", " + std::to_string(s.component);
        break;
      case Op::math:
        out_ += '.';
        out_ += s.index < math_function_count ? info(static_cast<MathFunction>(s.index)).name : "?";
        operands(s);
        break;
      case Op::philox:
        out_ += '.' + std::to_string(s.component);
        operands(s);
        break;
      case Op::load:
        out_ += ' ';
        element(s, 0);
        break;
      case Op::store:
        out_ += ' ';
        element(s, 1);
        break;
      case Op::atomic:
        out_ += '.';
        out_ += s.immediate < atomic_kind_count ? to_string(static_cast<AtomicKind>(s.immediate)) : "?";
        out_ += ' ';
        element(s, s.immediate == static_cast<std::uint64_t>(AtomicKind::compare_exchange) ? 2 : 1);
        break;
      case Op::shared_atomic: {
        out_ += '.';
        out_ += s.immediate < atomic_kind_count ? to_string(static_cast<AtomicKind>(s.immediate)) : "?";
        out_ += ' ';
        local(s.index);
        const bool exchanges = s.immediate == static_cast<std::uint64_t>(AtomicKind::compare_exchange);
        const std::span<const ValueId> all{s.operands};
        const std::size_t values = std::min<std::size_t>(exchanges ? 2 : 1, all.size());
        subscript(all.first(all.size() - values));
        rest(all.last(values));
        break;
      }
      case Op::barrier:
        if (s.immediate != 0) out_ += '.' + std::to_string(s.immediate);
        break;
      case Op::shuffle:
      case Op::ballot:
        out_ += '.' + std::to_string(s.immediate) + ' ';
        local(s.index);
        rest(s.operands);
        break;
      case Op::local:
      case Op::shared:
        out_ += ' ';
        define_local(s.index);
        out_ += " : " + std::string(to_string(s.type));
        if (s.immediate != 1) out_ += '[' + std::to_string(s.immediate) + ']';
        if (s.component != 0) out_ += " per_thread";
        break;
      case Op::get:
        out_ += ' ';
        local(s.index);
        subscript(s.operands);
        break;
      case Op::set:
        out_ += ' ';
        local(s.index);
        indexed_value(s);
        break;
      case Op::scratch_load:
        out_ += ' ' + std::to_string(s.immediate);
        subscript(s.operands);
        break;
      case Op::scratch_store:
        out_ += ' ' + std::to_string(s.immediate);
        indexed_value(s);
        break;
      case Op::assert_:
        operands(s);
        out_ += ", " + quote(s.index < kernel_.strings.size() ? kernel_.strings[s.index] : "?");
        break;
      case Op::print:
        out_ += ' ' + quote(s.index < kernel_.strings.size() ? kernel_.strings[s.index] : "?");
        rest(s.operands);
        break;
      case Op::if_:
      case Op::while_:
      case Op::for_:
      case Op::parallel:
      case Op::reduce:
      case Op::threads:
      case Op::region:
      case Op::repeat:
      case Op::phase:
        control(s);
        return;
      case Op::repetition:
        out_ += ' ' + std::to_string(s.index);
        break;
      default:
        operands(s);
        break;
    }
    if (s.result != no_value) out_ += " : " + std::string(to_string(s.type));
    location(s.location);
  }

  void operands(const Statement& s) {
    if (s.operands.empty()) return;
    out_ += ' ';
    list(s.operands);
  }

  // `[%i], %v` or `, %v`: the value is last.
  void indexed_value(const Statement& s) {
    const std::span<const ValueId> operands{s.operands};
    if (operands.empty()) return;
    subscript(operands.first(operands.size() - 1));
    rest(operands.last(1));
  }

  void control(const Statement& s) {
    switch (s.op) {
      case Op::if_:
        operands(s);
        opening(s);
        if (!body(s, 1).statements.empty()) {
          out_ += " else ";
          block(body(s, 1));
        }
        break;
      case Op::while_:
        opening(s);
        out_ += " do ";
        block(body(s, 1));
        break;
      case Op::for_:
        out_ += ' ';
        define(body(s, 0).arguments.empty() ? no_value : body(s, 0).arguments.front());
        out_ += " = ";
        value(operand(s, 0));
        out_ += " to ";
        value(operand(s, 1));
        out_ += " step ";
        value(operand(s, 2));
        opening(s);
        break;
      case Op::threads:
        if (s.immediate != 0) {
          out_ += " unless ";
          local(s.index);
        }
        opening(s);
        break;
      case Op::repeat:
        out_ += ' ';
        arguments(body(s, 0));
        out_ += " to ";
        value(operand(s, 0));
        if (has_condition(s)) out_ += " while";
        opening(s);
        if (has_condition(s)) {
          out_ += " do ";
          block(body(s, 1));
        }
        break;
      case Op::phase:
        if (s.immediate != 0)
          out_ += " partials " + std::to_string(s.immediate >> 32) + " result " +
                  std::to_string(s.immediate & 0xffffffff);
        opening(s);
        break;
      case Op::region:
        if (s.immediate != 0) out_ += " allow_conflicts";
        opening(s);
        for (std::size_t i = 1; i < s.bodies.size(); ++i) {
          out_ += " and ";
          block(s.bodies[i]);
        }
        break;
      default:  // parallel, reduce
        if (s.op == Op::reduce) {
          out_ += '.';
          out_ += s.index < reduce_kind_count ? to_string(static_cast<ReduceKind>(s.index)) : "?";
        }
        out_ += ' ';
        arguments(body(s, 0));
        bounds(s);
        if (s.op == Op::reduce) out_ += " : " + std::string(to_string(s.type));
        if (is_group_loop(s)) {
          for (std::size_t d = 0; d < s.component && d < max_rank; ++d)
            out_ += (d == 0 ? " group " : ", ") + std::to_string(thread_extent(s, d));
        }
        opening(s);
        break;
    }
  }

  void opening(const Statement& s) {
    location(s.location);
    out_ += ' ';
    block(body(s, 0));
  }

  const Kernel& kernel_;
  bool with_locations_;
  std::vector<std::uint32_t> values_, locals_;
  std::uint32_t next_value_ = 0, next_local_ = 0;
  std::size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string print(const Kernel& kernel, bool with_locations) {
  return Printer(kernel, kernel.value_count, kernel.local_count, with_locations).kernel();
}

std::string print(const Kernel& kernel, const Task& task, bool with_locations) {
  return Printer(kernel, task.value_count, task.local_count, with_locations).task(task);
}

KernelParts print_parts(const Kernel& kernel, std::span<const Statement* const> statements,
                        std::span<const ValueId> values) {
  return Printer(kernel, kernel.value_count, kernel.local_count, false).parts(statements, values);
}

std::string print_constant(ScalarType type, std::uint64_t bits) {
  switch (type) {
    case ScalarType::boolean:
      return bits != 0 ? "true" : "false";
    case ScalarType::f16: {
      const float value{half::from_bits(static_cast<std::uint16_t>(bits))};
      return float_text(value, bits, 0x7e00);
    }
    case ScalarType::f32:
      return float_text(std::bit_cast<float>(static_cast<std::uint32_t>(bits)), bits, 0x7fc00000);
    case ScalarType::f64:
      return float_text(std::bit_cast<double>(bits), bits, 0x7ff8000000000000);
    default:
      return is_signed(type) ? std::to_string(sign_extended(type, bits)) : std::to_string(bits);
  }
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += hex_digits[byte >> 4];
      out += hex_digits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace weir::ir
