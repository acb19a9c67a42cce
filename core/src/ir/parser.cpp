// SPDX-License-Identifier: Apache-2.0
#include "ir/parser.hpp"

#include <map>
#include <optional>
#include <unordered_map>

#include "ir/algorithm.hpp"
#include "ir/groups.hpp"
#include "ir/header_reader.hpp"
#include "ir/literals.hpp"
#include "ir/token_stream.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

namespace {

using Kind = Token::Kind;

// These tables are never destroyed: other threads may read programs while the process ends.
const std::unordered_map<std::string_view, Op>& mnemonics() {
  static const auto& table = *new std::unordered_map<std::string_view, Op>{
#define WEIR_OP(name, mnemonic, operands, bodies, result) {mnemonic, Op::name},
#include "ir/ops.def"
#undef WEIR_OP
  };
  return table;
}

const std::unordered_map<std::string_view, std::uint32_t>& math_functions() {
  static const auto& table = *new std::unordered_map<std::string_view, std::uint32_t>{
#define WEIR_MATH(name, operands) {#name, static_cast<std::uint32_t>(MathFunction::name)},
#include "ir/math.def"
#undef WEIR_MATH
  };
  return table;
}

class Parser {
 public:
  explicit Parser(TokenStream& in) : in_(in) {}

  Kernel parse(std::string_view file) {
    read_header(in_, file, kernel_);
    for (const Parameter& parameter : kernel_.parameters) {
      parameters_.emplace(parameter.name, static_cast<std::uint32_t>(parameters_.size()));
    }
    kernel_.body = block(0);
    if (!in_.at(Kind::end)) in_.fail("the end of the text after the kernel's closing '}'");
    kernel_.value_count = static_cast<std::uint32_t>(types_.size());
    kernel_.local_count = static_cast<std::uint32_t>(locals_.size());
    return std::move(kernel_);
  }

 private:
  // ---- names

  ValueId define(const Token& name, ScalarType type) {
    const auto id = static_cast<ValueId>(types_.size());
    const auto [known, added] = values_.emplace(name.text, Named{id, name.line});
    if (!added) {
      in_.fail_at(name, "expected a new value, found %" + std::string(name.text) +
                            " again, which is defined in line " + std::to_string(known->second.line));
    }
    types_.push_back(type);
    return id;
  }

  ValueId use() {
    const Token name = in_.expect(Kind::value, "a value such as %0");
    const auto known = values_.find(name.text);
    if (known == values_.end()) {
      in_.fail_at(name, "expected a value that is defined above, found %" + std::string(name.text));
    }
    return known->second.id;
  }

  std::uint32_t parameter_use() {
    const Token name = in_.expect(Kind::symbol, "a parameter such as @x");
    const auto known = parameters_.find(name.text);
    if (known == parameters_.end()) {
      in_.fail_at(name,
                  "expected a parameter that is declared above the body, found @" + std::string(name.text));
    }
    return known->second;
  }

  std::uint32_t local_use() {
    const Token name = in_.expect(Kind::local, "a local variable such as $0");
    const auto known = locals_.find(name.text);
    if (known == locals_.end()) {
      in_.fail_at(name, "expected a local variable that is declared above, found $" + std::string(name.text));
    }
    return known->second.id;
  }

  std::uint8_t optional_component() {
    return in_.accept_mark('.') ? static_cast<std::uint8_t>(in_.number(255, "a component's number"))
                                : std::uint8_t{0};
  }

  // ---- statements

  Block block(std::size_t depth) {
    if (depth > max_nesting) {
      in_.fail_at(in_.token(), "expected at most " + std::to_string(max_nesting) +
                                   " blocks inside one another, found more");
    }
    in_.expect_mark('{', "and a block");
    Block block;
    while (!in_.at_mark('}')) {
      if (in_.at(Kind::end)) in_.fail("a statement or '}'");
      block.statements.push_back(statement(depth));
    }
    in_.advance();
    return block;
  }

  Statement statement(std::size_t depth) {
    const Token start = in_.token();
    std::optional<Token> result;
    if (in_.at(Kind::value)) {
      result = in_.advance();
      in_.expect_mark('=', "after the value that the statement defines");
    }
    const Token mnemonic = in_.expect(Kind::name, "a statement");
    Statement s{};
    std::string_view detail;
    s.op = operation(mnemonic, detail);
    const bool gives = info(s.op).result != ResultRule::none;
    if (gives && !result) {
      in_.fail_at(start, "expected a value for the result, such as %0 = " + std::string(mnemonic.text) +
                             ", found none");
    }
    if (!gives && result) {
      in_.fail_at(start, "expected no result, since '" + std::string(mnemonic.text) +
                             "' gives none, found %" + std::string(result->text));
    }
    if (s.op >= Op::if_ && s.op != Op::break_ && s.op != Op::continue_ && s.op != Op::yield &&
        s.op != Op::assert_ && s.op != Op::print) {
      control(s, start, mnemonic, result, detail, depth);
      return s;
    }
    plain(s, detail, mnemonic);
    if (result) {
      in_.expect_mark(':', "and the result's type");
      s.type = in_.type();
      if (constant_) constant(s, *constant_);
      s.result = define(*result, s.type);
    }
    s.location = in_.place(start);
    return s;
  }

  // "math.sin" is the operation math with the detail "sin"; "scratch.load" is a complete operation name.
  Op operation(const Token& mnemonic, std::string_view& detail) const {
    const auto& table = mnemonics();
    if (const auto plain = table.find(mnemonic.text); plain != table.end()) {
      switch (plain->second) {
        case Op::math:
        case Op::philox:
        case Op::atomic:
        case Op::shared_atomic:
        case Op::shuffle:
        case Op::ballot:
        case Op::algorithm:
        case Op::reduce:
          break;
        default:
          return plain->second;
      }
    }
    const std::size_t dot = mnemonic.text.find('.');
    const auto known = table.find(mnemonic.text.substr(0, dot));
    if (known != table.end() && dot != std::string_view::npos) {
      detail = mnemonic.text.substr(dot + 1);
      switch (known->second) {
        case Op::math:
        case Op::philox:
        case Op::atomic:
        case Op::shared_atomic:
        case Op::shuffle:
        case Op::ballot:
        case Op::barrier:
        case Op::algorithm:
        case Op::reduce:
          return known->second;
        default:
          break;
      }
    }
    in_.fail_at(mnemonic, "expected an operation, found " + found(mnemonic));
  }

  std::uint64_t subgroup_width(Op op, std::string_view detail, const Token& mnemonic) {
    const auto width = unsigned_number(detail, max_subgroup);
    if (width && (*width != 0 || op != Op::barrier)) return *width;
    in_.fail_at(mnemonic, "expected a width of 1 to 32, such as " + std::string(info(op).mnemonic) +
                              ".32, found " + found(mnemonic));
  }

  void operand(Statement& s) { s.operands.push_back(use()); }

  void operand_list(Statement& s, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0)
        in_.expect_mark(',', "and operand " + std::to_string(i + 1) + " of " + std::to_string(count));
      operand(s);
    }
  }

  void subscript(Statement& s) {
    if (!in_.accept_mark('[')) return;
    do operand(s);
    while (in_.accept_mark(','));
    in_.expect_mark(']', "after the index");
  }

  void element_of(Statement& s) {
    s.index = parameter_use();
    if (!in_.accept_mark('[')) in_.fail("'[' and the element's index");
    if (!in_.at_mark(']')) {
      do operand(s);
      while (in_.accept_mark(','));
    }
    in_.expect_mark(']', "after the index");
    s.component = optional_component();
  }

  void value_operand(Statement& s, std::string_view what) {
    in_.expect_mark(',', what);
    operand(s);
    s.type = types_[s.operands.back()];
  }

  template <class Count, class Name>
  std::uint32_t enumerator(const Token& mnemonic, std::string_view detail, std::string_view what, Count count,
                           Name name) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (name(i) == detail) return i;
    }
    in_.fail_at(mnemonic, "expected " + std::string(what) + ", found " + found(mnemonic));
  }

  void plain(Statement& s, std::string_view detail, const Token& mnemonic) {
    constant_.reset();
    switch (s.op) {
      case Op::constant:
        literal(s);
        break;
      case Op::argument:
        s.index = parameter_use();
        s.component = optional_component();
        break;
      case Op::extent:
        s.index = parameter_use();
        in_.expect_mark(',', "and the dimension");
        s.component = static_cast<std::uint8_t>(in_.number(max_rank - 1, "a dimension"));
        break;
      case Op::math: {
        const auto known = math_functions().find(detail);
        if (known == math_functions().end())
          in_.fail_at(mnemonic, "expected a math function, found " + found(mnemonic));
        s.index = known->second;
        operand_list(s, info(static_cast<MathFunction>(s.index)).operands);
        break;
      }
      case Op::philox: {
        const auto word = unsigned_number(detail, 255);
        if (!word)
          in_.fail_at(mnemonic, "expected the number of a word, such as philox.0, found " + found(mnemonic));
        s.component = static_cast<std::uint8_t>(*word);
        operand_list(s, 6);
        break;
      }
      case Op::load:
        element_of(s);
        break;
      case Op::store:
        element_of(s);
        value_operand(s, "and the value to store");
        break;
      case Op::atomic:
        atomic(s, detail, mnemonic);
        break;
      case Op::shared_atomic:
        atomic(s, detail, mnemonic);
        break;
      case Op::barrier:
        if (mnemonic.text.find('.') != std::string_view::npos)
          s.immediate = subgroup_width(s.op, detail, mnemonic);
        break;
      case Op::shuffle:
      case Op::ballot:
        s.immediate = subgroup_width(s.op, detail, mnemonic);
        s.index = local_use();
        if (s.op == Op::ballot) break;
        in_.expect_mark(',', "and the lane");
        operand(s);
        break;
      case Op::local:
      case Op::shared:
        local(s);
        break;
      case Op::get:
        s.index = local_use();
        subscript(s);
        break;
      case Op::set:
        s.index = local_use();
        subscript(s);
        value_operand(s, "and the value to set");
        break;
      case Op::scratch_load:
      case Op::scratch_store:
        s.immediate = in_.number(0xffffffff, "a byte offset");
        subscript(s);
        if (s.op == Op::scratch_store) value_operand(s, "and the value to store");
        break;
      case Op::assert_:
        operand(s);
        in_.expect_mark(',', "and the message");
        s.index = static_cast<std::uint32_t>(kernel_.strings.size());
        kernel_.strings.push_back(in_.string("the message"));
        break;
      case Op::print:
        s.index = static_cast<std::uint32_t>(kernel_.strings.size());
        kernel_.strings.push_back(in_.string("the format"));
        while (in_.accept_mark(',')) operand(s);
        break;
      case Op::algorithm:
        s.index = static_cast<std::uint32_t>(kernel_.algorithms.size());
        kernel_.algorithms.push_back(read_algorithm(in_, mnemonic, [&] { return parameter_use(); }));
        break;
      default:
        operand_list(s, static_cast<std::size_t>(info(s.op).operands));
        break;
    }
  }

  // The type follows the number, so the number is kept until the type is known.
  struct Literal {
    Token token;
    std::optional<std::uint64_t> nan_bits;
    bool nan = false;
  };

  void literal(Statement&) {
    if (!in_.at(Kind::number) && !in_.at(Kind::name)) in_.fail("a number, true, false, inf or nan");
    Literal literal{in_.advance(), {}};
    literal.nan = literal.token.text == "nan";
    if (literal.nan && in_.accept_mark('(')) {
      literal.nan_bits = in_.at(Kind::number) ? hex_number(in_.token().text) : std::nullopt;
      if (!literal.nan_bits) in_.fail("the bits of the NaN, such as 0x7fc00001");
      in_.advance();
      in_.expect_mark(')', "after the bits of the NaN");
    }
    constant_ = literal;
  }

  void constant(Statement& s, const Literal& literal) {
    const std::string name{to_string(s.type)};
    if (!literal.nan) {
      const auto bits = constant_bits(literal.token.text, s.type);
      if (!bits)
        in_.fail_at(literal.token,
                    "expected a number that " + name + " can hold, found " + found(literal.token));
      s.immediate = *bits;
      return;
    }
    if (!is_float(s.type))
      in_.fail_at(literal.token, "expected a number that " + name + " can hold, found 'nan'");
    s.immediate = literal.nan_bits.value_or(canonical_nan(s.type));
    if (!is_nan(s.type, s.immediate)) {
      in_.fail_at(literal.token, "expected the bits of a NaN of " + name + ", found bits of something else");
    }
  }

  void atomic(Statement& s, std::string_view detail, const Token& mnemonic) {
    s.immediate = enumerator(mnemonic, detail, "an atomic such as atomic.add", atomic_kind_count,
                             [](std::uint32_t i) { return to_string(static_cast<AtomicKind>(i)); });
    if (s.op == Op::shared_atomic) {
      s.index = local_use();
      subscript(s);
    } else {
      element_of(s);
    }
    if (s.immediate == static_cast<std::uint64_t>(AtomicKind::compare_exchange)) {
      in_.expect_mark(',', "and the expected value");
      operand(s);
      in_.expect_mark(',', "and the desired value");
      operand(s);
    } else {
      in_.expect_mark(',', "and the value");
      operand(s);
    }
  }

  void local(Statement& s) {
    const Token name = in_.expect(Kind::local, "the local variable's name, such as $0");
    const auto id = static_cast<std::uint32_t>(locals_.size());
    const auto [known, added] = locals_.emplace(name.text, Named{id, name.line});
    if (!added) {
      in_.fail_at(name, "expected a new local variable, found $" + std::string(name.text) +
                            " again, which is declared in line " + std::to_string(known->second.line));
    }
    s.index = id;
    in_.expect_mark(':', "and a type after the local variable's name");
    s.type = in_.type();
    s.immediate = 1;
    if (in_.accept_mark('[')) {
      s.immediate = in_.number(max_local_bytes, "a number of elements", 1);
      in_.expect_mark(']', "after the number of elements");
    }
  }

  void control(Statement& s, const Token& start, const Token& mnemonic, const std::optional<Token>& result,
               std::string_view detail, std::size_t depth) {
    switch (s.op) {
      case Op::if_:
        operand(s);
        s.location = in_.place(start);
        s.bodies.push_back(block(depth + 1));
        if (in_.accept_word("else")) {
          s.bodies.push_back(block(depth + 1));
        } else {
          s.bodies.emplace_back();
        }
        break;
      case Op::while_:
        s.location = in_.place(start);
        s.bodies.push_back(block(depth + 1));
        in_.expect_word("do", "between the condition and the body of 'while'");
        s.bodies.push_back(block(depth + 1));
        break;
      case Op::for_:
        for_loop(s, start, depth);
        break;
      case Op::threads:
        s.location = in_.place(start);
        s.bodies.push_back(block(depth + 1));
        break;
      case Op::repeat:
        repeat(s, start, depth);
        break;
      case Op::phase:
        in_.fail_at(mnemonic, "expected an operation of kernels, found 'phase', which only tasks have");
      case Op::region:
        s.immediate = in_.accept_word("allow_conflicts") ? 1 : 0;
        s.location = in_.place(start);
        do s.bodies.push_back(block(depth + 1));
        while (in_.accept_word("and"));
        break;
      default:
        task_loop(s, start, mnemonic, result, detail, depth);
        break;
    }
  }

  void repeat(Statement& s, const Token& start, std::size_t depth) {
    in_.expect_mark('(', "and the number of the repetition");
    const Token number = in_.expect(Kind::value, "the number of the repetition, such as %0");
    in_.expect_mark(')', "after the number of the repetition");
    in_.expect_word("to", "and how many repetitions there are at most");
    operand(s);
    const ValueId id = define(number, ScalarType::i64);
    const bool conditional = in_.accept_word("while");
    s.location = in_.place(start);
    s.bodies.push_back(block(depth + 1));
    s.bodies[0].arguments.push_back(id);
    if (!conditional) return;
    in_.expect_word("do", "between the condition and the body of 'repeat'");
    s.bodies.push_back(block(depth + 1));
  }

  void for_loop(Statement& s, const Token& start, std::size_t depth) {
    const Token index = in_.expect(Kind::value, "the loop's index, such as %0");
    in_.expect_mark('=', "and the loop's bounds");
    operand(s);
    in_.expect_word("to", "and the upper bound");
    operand(s);
    in_.expect_word("step", "and the step");
    operand(s);
    const ValueId id = define(index, ScalarType::i64);
    s.location = in_.place(start);
    Block body = block(depth + 1);
    body.arguments.push_back(id);
    s.bodies.push_back(std::move(body));
  }

  void task_loop(Statement& s, const Token& start, const Token& mnemonic, const std::optional<Token>& result,
                 std::string_view detail, std::size_t depth) {
    if (s.op == Op::reduce) {
      s.index = enumerator(
          mnemonic, detail, "a reduction: reduce.sum, .min, .max, .and, .or, .xor, .any or .all",
          reduce_kind_count, [](std::uint32_t i) { return to_string(static_cast<ReduceKind>(i)); });
    }
    in_.expect_mark('(', "and the loop's indices");
    std::vector<Token> indices;
    do indices.push_back(in_.expect(Kind::value, "a loop index such as %0"));
    while (indices.size() <= max_rank && in_.accept_mark(','));
    in_.expect_mark(')', "after at most 4 loop indices");
    in_.expect_word("in", "and the loop's bounds");
    in_.expect_mark('(', "and the loop's bounds");
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (i != 0) in_.expect_mark(',', "and the bounds of each index");
      operand(s);
      in_.expect_word("to", "and the upper bound");
      operand(s);
    }
    in_.expect_mark(')', "after the bounds of each index");
    if (s.op == Op::parallel && in_.accept_word("group")) {
      std::vector<std::uint64_t> extents;
      do extents.push_back(in_.number(max_group_threads, "a number of threads", 1));
      while (extents.size() < max_rank && in_.accept_mark(','));
      set_group(s, extents);
    }
    if (s.op == Op::reduce) {
      in_.expect_mark(':', "and the result's type");
      s.type = in_.type();
      s.result = define(*result, s.type);
    }
    std::vector<ValueId> ids;
    for (const Token& index : indices) ids.push_back(define(index, ScalarType::i64));
    s.location = in_.place(start);
    Block body = block(depth + 1);
    body.arguments = std::move(ids);
    s.bodies.push_back(std::move(body));
  }

  struct Named {
    std::uint32_t id;
    std::uint32_t line;
  };

  TokenStream& in_;
  Kernel kernel_;
  std::optional<Literal> constant_;
  // Ordered maps: their cost does not depend on the chosen names.
  std::map<std::string_view, Named> values_, locals_;
  std::map<std::string_view, std::uint32_t> parameters_;
  std::vector<ScalarType> types_;
};

}  // namespace

Kernel parse(std::string_view text, std::string_view file) {
  if (text.size() > max_text_bytes) {
    Lexer(text, file)
        .fail(1, 1,
              "expected at most " + std::to_string(max_text_bytes) + " bytes of kernel text, found " +
                  std::to_string(text.size()));
  }
  TokenStream in(text, file);
  return Parser(in).parse(file);
}

}  // namespace weir::ir
