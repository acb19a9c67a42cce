// SPDX-License-Identifier: Apache-2.0
#include "expression.hpp"

#include <cctype>
#include <cmath>
#include <stdexcept>

namespace generator {
namespace {

struct Function {
  const char* name;
  float (*value)(float);
};
constexpr Function functions[] = {
    {"sin", std::sin}, {"cos", std::cos}, {"sqrt", std::sqrt}, {"exp", std::exp}};

const Function* find_function(std::string_view name) {
  for (const Function& function : functions)
    if (name == function.name) return &function;
  return nullptr;
}

using Tree = std::unique_ptr<Expression>;

Tree node(Expression::Kind kind, std::string text, Tree left = {}, Tree right = {}) {
  return std::make_unique<Expression>(Expression{kind, std::move(text), std::move(left), std::move(right)});
}

/// One function for each level of precedence.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Tree all() {
    Tree tree = sum();
    if (!at_end()) fail("an operator");
    return tree;
  }

 private:
  Tree sum() {
    Tree tree = product();
    while (const char sign = one_of("+-"))
      tree = node(Expression::Kind::operation, {sign}, std::move(tree), product());
    return tree;
  }
  Tree product() {
    Tree tree = factor();
    while (const char sign = one_of("*/"))
      tree = node(Expression::Kind::operation, {sign}, std::move(tree), factor());
    return tree;
  }
  Tree factor() {
    if (one_of("-")) return node(Expression::Kind::operation, "-", factor());
    if (one_of("(")) return closed(sum());
    const std::string word = take_word();
    if (word.empty()) fail("a number, a name or '('");
    if (std::isdigit(static_cast<unsigned char>(word[0]))) return node(Expression::Kind::number, word);
    if (find_function(word)) {
      if (!one_of("(")) fail("'(' after '" + word + "'");
      return node(Expression::Kind::operation, word, closed(sum()));
    }
    return node(word == "i" ? Expression::Kind::index : Expression::Kind::variable, word);
  }
  Tree closed(Tree tree) {
    if (!one_of(")")) fail("')'");
    return tree;
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  char one_of(std::string_view characters) {
    if (at_end() || characters.find(text_[at_]) == std::string_view::npos) return 0;
    return text_[at_++];
  }
  std::string take_word() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  [[noreturn]] void fail(const std::string& expected) {
    throw std::invalid_argument("'" + std::string(text_) + "', column " + std::to_string(at_ + 1) +
                                ": expected " + expected);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<Expression> parse_expression(std::string_view text) {
  return Parser(text).all();
}

void add_variables(const Expression& expression, std::set<std::string>& names) {
  if (expression.kind == Expression::Kind::variable) names.insert(expression.text);
  for (const Tree* operand : {&expression.left, &expression.right})
    if (*operand) add_variables(**operand, names);
}

std::string to_opencl_c(const Expression& e, const std::function<std::string(const std::string&)>& element) {
  switch (e.kind) {
    case Expression::Kind::number:
      return "(float)" + e.text;
    case Expression::Kind::index:
      return "(float)i";
    case Expression::Kind::variable:
      return element(e.text);
    case Expression::Kind::operation:
      break;
  }
  const std::string left = to_opencl_c(*e.left, element);
  if (!e.right) return e.text + "(" + left + ")";
  return "(" + left + " " + e.text + " " + to_opencl_c(*e.right, element) + ")";
}

float evaluate(const Expression& e, long i, const std::function<float(const std::string&)>& element) {
  switch (e.kind) {
    case Expression::Kind::number:
      return std::stof(e.text);
    case Expression::Kind::index:
      return static_cast<float>(i);
    case Expression::Kind::variable:
      return element(e.text);
    case Expression::Kind::operation:
      break;
  }
  const float left = evaluate(*e.left, i, element);
  if (const Function* function = find_function(e.text)) return function->value(left);
  if (!e.right) return -left;
  const float right = evaluate(*e.right, i, element);
  switch (e.text[0]) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    default:
      return left / right;
  }
}

}  // namespace generator
