// SPDX-License-Identifier: Apache-2.0
#include "ir/parser.hpp"

#include <map>
#include <optional>
#include <unordered_map>

#include <weir/error.hpp>

#include "ir/lexer.hpp"
#include "ir/literals.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

namespace {

using Kind = Token::Kind;

const std::unordered_map<std::string_view, Op>& mnemonics() {
  static const std::unordered_map<std::string_view, Op> table = {
#define WEIR_OP(name, mnemonic, operands, bodies, result) {mnemonic, Op::name},
#include "ir/ops.def"
#undef WEIR_OP
  };
  return table;
}

const std::unordered_map<std::string_view, std::uint32_t>& math_functions() {
  static const std::unordered_map<std::string_view, std::uint32_t> table = {
#define WEIR_MATH(name, operands) {#name, static_cast<std::uint32_t>(MathFunction::name)},
#include "ir/math.def"
#undef WEIR_MATH
  };
  return table;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : text_(text), file_(file), lexer_(text, file) {}

  Kernel parse() {
    if (text_.size() > max_text_bytes) {
      lexer_.fail(1, 1, "expected at most " + std::to_string(max_text_bytes) + " bytes of kernel text, found " +
                            std::to_string(text_.size()));
    }
    header();
    kernel_.body = block(0);
    if (token_.kind != Kind::end) fail("the end of the text after the kernel's closing '}'");
    kernel_.value_count = static_cast<std::uint32_t>(types_.size());
    kernel_.local_count = static_cast<std::uint32_t>(locals_.size());
    return std::move(kernel_);
  }

 private:
  // ---- tokens

  [[noreturn]] void fail_at(const Token& token, const std::string& message) const {
    lexer_.fail(token.line, token.column, message);
  }
  [[noreturn]] void fail(const std::string& expected) const {
    fail_at(token_, "expected " + expected + ", found " + found(token_));
  }

  Token advance() {
    const Token taken = token_;
    token_ = lexer_.next();
    return taken;
  }
  Token expect(Kind kind, const std::string& expected) {
    if (token_.kind != kind) fail(expected);
    return advance();
  }
  bool at_mark(char c) const { return token_.kind == Kind::mark && token_.text.front() == c; }
  bool accept_mark(char c) {
    if (!at_mark(c)) return false;
    advance();
    return true;
  }
  void expect_mark(char c, std::string_view where) {
    if (!accept_mark(c)) fail("'" + std::string(1, c) + "' " + std::string(where));
  }
  bool accept_word(std::string_view word) {
    if (token_.kind != Kind::name || token_.text != word) return false;
    advance();
    return true;
  }
  void expect_word(std::string_view word, std::string_view where) {
    if (!accept_word(word)) fail("'" + std::string(word) + "' " + std::string(where));
  }

  std::uint64_t number(std::uint64_t limit, const std::string& what) {
    const auto value = token_.kind == Kind::number ? unsigned_number(token_.text, limit) : std::nullopt;
    if (!value) fail(what + " from 0 to " + std::to_string(limit));
    advance();
    return *value;
  }

  std::string string(const std::string& what) {
    const Token token = expect(Kind::string, what + " in double quotes");
    auto text = unquote(token.text);
    if (!text) {
      fail_at(token, "expected \\\" \\\\ \\n \\t or \\x and two digits 0-9 a-f after a backslash, found " + found(token));
    }
    return std::move(*text);
  }

  ScalarType type() {
    const auto type = token_.kind == Kind::name ? scalar_type(token_.text) : std::nullopt;
    if (!type) fail("a scalar type (bool, i8 to i64, u8 to u64, f16, f32, f64)");
    advance();
    return *type;
  }

  // ---- header

  void header() {
    static constexpr std::string_view magic = "weir-ir";
    token_ = lexer_.next();
    const Token first = token_;
    // "weir-ir" is no word of the language, so it is compared with the text itself.
    if (first.kind == Kind::end || first.text != "weir" ||
        std::string_view(first.text.data(), text_.data() + text_.size() - first.text.data()).substr(0, 7) != magic) {
      fail("'weir-ir 1', which begins every kernel");
    }
    advance();
    advance();  // "-ir"
    if (token_.kind != Kind::number || token_.text != "1") fail("version 1 of the text form after 'weir-ir'");
    advance();
    expect_word("kernel", "and the kernel's name");
    kernel_.name = string("the kernel's name");
    options();
    while (accept_word("file")) kernel_.files.push_back(string("a source file's name"));
    explicit_locations_ = !kernel_.files.empty();
    if (!explicit_locations_) kernel_.files.emplace_back(file_);
    while (token_.kind == Kind::name && token_.text == "param") parameter();
    if (!at_mark('{')) fail("'param' or the kernel's body in braces");
  }

  void options() {
    for (;;) {
      if (accept_word("fast_math")) {
        kernel_.options.fast_math = true;
      } else if (accept_word("check_bounds")) {
        kernel_.options.check_bounds = true;
      } else {
        return;
      }
    }
  }

  void parameter() {
    Parameter parameter;
    const Token start = advance();
    const Token name = expect(Kind::symbol, "the parameter's name, such as @x");
    parameter.name = name.text;
    if (!parameters_.emplace(name.text, static_cast<std::uint32_t>(kernel_.parameters.size())).second) {
      fail_at(name, "expected a new name, found a second parameter @" + parameter.name);
    }
    if (kernel_.parameters.size() == max_parameters) {
      fail_at(name, "expected at most " + std::to_string(max_parameters) + " parameters, found more");
    }
    expect_mark(':', "and a type after the parameter's name");
    if (accept_word("array")) {
      parameter.kind = Parameter::Kind::array;
      expect_mark('<', "after 'array'");
      parameter.element = element();
      expect_mark(',', "and the rank after the element type");
      parameter.rank = static_cast<std::uint8_t>(number(255, "the array's rank"));
      expect_mark('>', "after the array's rank");
    } else {
      parameter.element = element();
    }
    parameter.location = place(start);
    kernel_.parameters.push_back(std::move(parameter));
  }

  ElementType element() {
    ElementType element;
    const bool vector = accept_word("vec");
    const bool matrix = !vector && accept_word("mat");
    if (!vector && !matrix) {
      if (token_.kind != Kind::name || !scalar_type(token_.text)) {
        fail("a type: a scalar type, vec<T, N>, mat<T, R, C>, or array<type, rank> for a parameter");
      }
      element.scalar = type();
      return element;
    }
    expect_mark('<', vector ? "after 'vec'" : "after 'mat'");
    element.shape = vector ? ElementType::Shape::vector : ElementType::Shape::matrix;
    element.scalar = type();
    expect_mark(',', "and a number after the scalar type");
    element.rows = static_cast<std::uint8_t>(number(255, "a number of components"));
    if (matrix) {
      expect_mark(',', "and the number of columns after the number of rows");
      element.cols = static_cast<std::uint8_t>(number(255, "a number of columns"));
    }
    expect_mark('>', "at the end of the type");
    return element;
  }

  // A statement's place: what is written behind it, else its place in this text when that names no files.
  Location place(const Token& start) {
    if (token_.kind != Kind::place) {
      return explicit_locations_ ? Location{} : Location{0, start.line, start.column};
    }
    const Token token = advance();
    const std::size_t first = token.text.find(':');
    const std::size_t second = first == std::string_view::npos ? first : token.text.find(':', first + 1);
    if (second != std::string_view::npos) {
      const auto file = unsigned_number(token.text.substr(0, first), 0xffffffff);
      const auto line = unsigned_number(token.text.substr(first + 1, second - first - 1), 0xffffffff);
      const auto column = unsigned_number(token.text.substr(second + 1), 0xffffffff);
      if (file && line && column) {
        if (*file >= kernel_.files.size()) {
          fail_at(token, "expected the number of one of the " + std::to_string(kernel_.files.size()) +
                             " files declared above, found " + std::to_string(*file));
        }
        return {static_cast<std::uint32_t>(*file), static_cast<std::uint32_t>(*line),
                static_cast<std::uint32_t>(*column)};
      }
    }
    fail_at(token, "expected a place such as !0:12:5 (file, line, column), found " + found(token));
  }

  // ---- names

  ValueId define(const Token& name, ScalarType type) {
    const auto id = static_cast<ValueId>(types_.size());
    const auto [known, added] = values_.emplace(name.text, Named{id, name.line});
    if (!added) {
      fail_at(name, "expected a new value, found %" + std::string(name.text) + " again, which is defined in line " +
                        std::to_string(known->second.line));
    }
    types_.push_back(type);
    return id;
  }

  ValueId use() {
    const Token name = expect(Kind::value, "a value such as %0");
    const auto known = values_.find(name.text);
    if (known == values_.end()) {
      fail_at(name, "expected a value that is defined above, found %" + std::string(name.text));
    }
    return known->second.id;
  }

  std::uint32_t parameter_use() {
    const Token name = expect(Kind::symbol, "a parameter such as @x");
    const auto known = parameters_.find(name.text);
    if (known == parameters_.end()) {
      fail_at(name, "expected a parameter that is declared above the body, found @" + std::string(name.text));
    }
    return known->second;
  }

  std::uint32_t local_use() {
    const Token name = expect(Kind::local, "a local variable such as $0");
    const auto known = locals_.find(name.text);
    if (known == locals_.end()) {
      fail_at(name, "expected a local variable that is declared above, found $" + std::string(name.text));
    }
    return known->second.id;
  }

  std::uint8_t optional_lane() {
    return accept_mark('.') ? static_cast<std::uint8_t>(number(255, "a component's number")) : std::uint8_t{0};
  }

  // ---- statements

  Block block(std::size_t depth) {
    if (depth > max_nesting) {
      fail_at(token_, "expected at most " + std::to_string(max_nesting) + " blocks inside one another, found more");
    }
    expect_mark('{', "and a block");
    Block block;
    while (!at_mark('}')) {
      if (token_.kind == Kind::end) fail("a statement or '}'");
      block.statements.push_back(statement(depth));
    }
    advance();
    return block;
  }

  Statement statement(std::size_t depth) {
    const Token start = token_;
    std::optional<Token> result;
    if (token_.kind == Kind::value) {
      result = advance();
      expect_mark('=', "after the value that the statement defines");
    }
    const Token mnemonic = expect(Kind::name, "a statement");
    Statement s{};
    std::string_view detail;
    s.op = operation(mnemonic, detail);
    const bool gives = info(s.op).result != ResultRule::none;
    if (gives && !result) {
      fail_at(start, "expected a value for the result, such as %0 = " + std::string(mnemonic.text) + ", found none");
    }
    if (!gives && result) {
      fail_at(start, "expected no result, since '" + std::string(mnemonic.text) + "' gives none, found %" +
                         std::string(result->text));
    }
    if (s.op >= Op::if_ && s.op != Op::break_ && s.op != Op::continue_ && s.op != Op::yield && s.op != Op::assert_) {
      control(s, start, mnemonic, result, detail, depth);
      return s;
    }
    plain(s, detail, mnemonic);
    if (result) {
      expect_mark(':', "and the result's type");
      s.type = type();
      if (constant_) constant(s, *constant_);
      s.result = define(*result, s.type);
    }
    s.location = place(start);
    return s;
  }

  // "math.sin" is the operation math and the detail "sin"; "temp.load" is an operation as it stands.
  Op operation(const Token& mnemonic, std::string_view& detail) const {
    const auto& table = mnemonics();
    if (const auto plain = table.find(mnemonic.text); plain != table.end()) {
      switch (plain->second) {
        case Op::math:
        case Op::philox:
        case Op::atomic:
        case Op::reduce: break;
        default: return plain->second;
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
        case Op::reduce: return known->second;
        default: break;
      }
    }
    fail_at(mnemonic, "expected an operation, found " + found(mnemonic));
  }

  void operand(Statement& s) { s.operands.push_back(use()); }

  void operand_list(Statement& s, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) expect_mark(',', "and operand " + std::to_string(i + 1) + " of " + std::to_string(count));
      operand(s);
    }
  }

  void subscript(Statement& s) {
    if (!accept_mark('[')) return;
    do operand(s);
    while (accept_mark(','));
    expect_mark(']', "after the index");
  }

  void element_of(Statement& s) {
    s.index = parameter_use();
    if (!at_mark('[')) fail("'[' and the element's index");
    subscript(s);
    s.lane = optional_lane();
  }

  void value_operand(Statement& s, std::string_view what) {
    expect_mark(',', what);
    operand(s);
    s.type = types_[s.operands.back()];
  }

  template <class Count, class Name>
  std::uint32_t enumerator(const Token& mnemonic, std::string_view detail, std::string_view what, Count count,
                           Name name) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (name(i) == detail) return i;
    }
    fail_at(mnemonic, "expected " + std::string(what) + ", found " + found(mnemonic));
  }

  void plain(Statement& s, std::string_view detail, const Token& mnemonic) {
    constant_.reset();
    switch (s.op) {
      case Op::constant: literal(s); break;
      case Op::argument:
        s.index = parameter_use();
        s.lane = optional_lane();
        break;
      case Op::extent:
        s.index = parameter_use();
        expect_mark(',', "and the dimension");
        s.lane = static_cast<std::uint8_t>(number(255, "a dimension"));
        break;
      case Op::math: {
        const auto known = math_functions().find(detail);
        if (known == math_functions().end()) fail_at(mnemonic, "expected a math function, found " + found(mnemonic));
        s.index = known->second;
        operand_list(s, info(static_cast<MathFunction>(s.index)).operands);
        break;
      }
      case Op::philox: {
        const auto word = unsigned_number(detail, 255);
        if (!word) fail_at(mnemonic, "expected the number of a word, such as philox.0, found " + found(mnemonic));
        s.lane = static_cast<std::uint8_t>(*word);
        operand_list(s, 6);
        break;
      }
      case Op::load: element_of(s); break;
      case Op::store:
        element_of(s);
        value_operand(s, "and the value to store");
        break;
      case Op::atomic: atomic(s, detail, mnemonic); break;
      case Op::local: local(s); break;
      case Op::get:
        s.index = local_use();
        subscript(s);
        break;
      case Op::set:
        s.index = local_use();
        subscript(s);
        value_operand(s, "and the value to set");
        break;
      case Op::temp_load:
      case Op::temp_store:
        s.immediate = number(0xffffffff, "a byte offset");
        subscript(s);
        if (s.op == Op::temp_store) value_operand(s, "and the value to store");
        break;
      case Op::assert_:
        operand(s);
        expect_mark(',', "and the message");
        s.index = static_cast<std::uint32_t>(kernel_.strings.size());
        kernel_.strings.push_back(string("the message"));
        break;
      default: operand_list(s, static_cast<std::size_t>(info(s.op).operands)); break;
    }
  }

  // The type stands behind the number, so that the number is kept until the type is known.
  struct Literal {
    Token token;
    std::optional<std::uint64_t> nan_bits;
    bool nan = false;
  };

  void literal(Statement&) {
    if (token_.kind != Kind::number && token_.kind != Kind::name) fail("a number, true, false, inf or nan");
    Literal literal{advance(), {}};
    literal.nan = literal.token.text == "nan";
    if (literal.nan && accept_mark('(')) {
      literal.nan_bits = token_.kind == Kind::number ? hex_number(token_.text) : std::nullopt;
      if (!literal.nan_bits) fail("the bits of the NaN, such as 0x7fc00001");
      advance();
      expect_mark(')', "after the bits of the NaN");
    }
    constant_ = literal;
  }

  void constant(Statement& s, const Literal& literal) {
    const std::string name{to_string(s.type)};
    if (!literal.nan) {
      const auto bits = constant_bits(literal.token.text, s.type);
      if (!bits) fail_at(literal.token, "expected a number that " + name + " can hold, found " + found(literal.token));
      s.immediate = *bits;
      return;
    }
    if (!is_float(s.type)) fail_at(literal.token, "expected a number that " + name + " can hold, found 'nan'");
    s.immediate = literal.nan_bits.value_or(canonical_nan(s.type));
    if (!is_nan(s.type, s.immediate)) {
      fail_at(literal.token, "expected the bits of a NaN of " + name + ", found bits of something else");
    }
  }

  void atomic(Statement& s, std::string_view detail, const Token& mnemonic) {
    s.immediate = enumerator(mnemonic, detail, "an atomic such as atomic.add", atomic_kind_count,
                             [](std::uint32_t i) { return to_string(static_cast<AtomicKind>(i)); });
    element_of(s);
    if (s.immediate == static_cast<std::uint64_t>(AtomicKind::compare_exchange)) {
      expect_mark(',', "and the expected value");
      operand(s);
      expect_mark(',', "and the desired value");
      operand(s);
    } else {
      expect_mark(',', "and the value");
      operand(s);
    }
  }

  void local(Statement& s) {
    const Token name = expect(Kind::local, "the local variable's name, such as $0");
    const auto id = static_cast<std::uint32_t>(locals_.size());
    const auto [known, added] = locals_.emplace(name.text, Named{id, name.line});
    if (!added) {
      fail_at(name, "expected a new local variable, found $" + std::string(name.text) +
                        " again, which is declared in line " + std::to_string(known->second.line));
    }
    s.index = id;
    expect_mark(':', "and a type after the local variable's name");
    s.type = type();
    s.immediate = 1;
    if (accept_mark('[')) {
      s.immediate = number(max_local_bytes, "a number of elements");
      expect_mark(']', "after the number of elements");
    }
  }

  void control(Statement& s, const Token& start, const Token& mnemonic, const std::optional<Token>& result,
               std::string_view detail, std::size_t depth) {
    switch (s.op) {
      case Op::if_:
        operand(s);
        s.location = place(start);
        s.bodies.push_back(block(depth + 1));
        if (accept_word("else")) {
          s.bodies.push_back(block(depth + 1));
        } else {
          s.bodies.emplace_back();
        }
        break;
      case Op::while_:
        s.location = place(start);
        s.bodies.push_back(block(depth + 1));
        expect_word("do", "between the condition and the body of 'while'");
        s.bodies.push_back(block(depth + 1));
        break;
      case Op::for_: for_loop(s, start, depth); break;
      case Op::region:
        s.immediate = accept_word("allow_conflicts") ? 1 : 0;
        s.location = place(start);
        do s.bodies.push_back(block(depth + 1));
        while (accept_word("and"));
        break;
      default: task_loop(s, start, mnemonic, result, detail, depth); break;
    }
  }

  void for_loop(Statement& s, const Token& start, std::size_t depth) {
    const Token index = expect(Kind::value, "the loop's index, such as %0");
    expect_mark('=', "and the loop's bounds");
    operand(s);
    expect_word("to", "and the upper bound");
    operand(s);
    expect_word("step", "and the step");
    operand(s);
    const ValueId id = define(index, ScalarType::i64);
    s.location = place(start);
    Block body = block(depth + 1);
    body.arguments.push_back(id);
    s.bodies.push_back(std::move(body));
  }

  void task_loop(Statement& s, const Token& start, const Token& mnemonic, const std::optional<Token>& result,
                 std::string_view detail, std::size_t depth) {
    if (s.op == Op::reduce) {
      s.index = enumerator(mnemonic, detail, "a reduction: reduce.sum, .min, .max, .any or .all", reduce_kind_count,
                           [](std::uint32_t i) { return to_string(static_cast<ReduceKind>(i)); });
    }
    expect_mark('(', "and the loop's indices");
    std::vector<Token> indices;
    do indices.push_back(expect(Kind::value, "a loop index such as %0"));
    while (indices.size() <= max_rank && accept_mark(','));
    expect_mark(')', "after at most 4 loop indices");
    expect_word("in", "and the loop's bounds");
    expect_mark('(', "and the loop's bounds");
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (i != 0) expect_mark(',', "and the bounds of each index");
      operand(s);
      expect_word("to", "and the upper bound");
      operand(s);
    }
    expect_mark(')', "after the bounds of each index");
    if (s.op == Op::reduce) {
      expect_mark(':', "and the result's type");
      s.type = type();
      s.result = define(*result, s.type);
    }
    std::vector<ValueId> ids;
    for (const Token& index : indices) ids.push_back(define(index, ScalarType::i64));
    s.location = place(start);
    Block body = block(depth + 1);
    body.arguments = std::move(ids);
    s.bodies.push_back(std::move(body));
  }

  struct Named {
    std::uint32_t id;
    std::uint32_t line;
  };

  std::string_view text_, file_;
  Lexer lexer_;
  Token token_;
  Kernel kernel_;
  bool explicit_locations_ = false;
  std::optional<Literal> constant_;
  // Ordered maps: their cost does not depend on how the names were chosen.
  std::map<std::string_view, Named> values_, locals_;
  std::map<std::string_view, std::uint32_t> parameters_;
  std::vector<ScalarType> types_;
};

}  // namespace

Kernel parse(std::string_view text, std::string_view file) { return Parser(text, file).parse(); }

}  // namespace weir::ir
