// SPDX-License-Identifier: Apache-2.0
#include "ir/lexer.hpp"

#include <weir/error.hpp>

namespace weir::ir {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c);
}

constexpr std::size_t quoted_bytes = 40;

// The part of the text that a message may repeat: short, and without control characters.
std::string excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, quoted_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return text.size() > quoted_bytes ? out + "..." : out;
}

}  // namespace

std::string found(const Token& token) {
  switch (token.kind) {
    case Token::Kind::end:
      return "the end of the text";
    case Token::Kind::value:
      return "'%" + excerpt(token.text) + "'";
    case Token::Kind::local:
      return "'$" + excerpt(token.text) + "'";
    case Token::Kind::symbol:
      return "'@" + excerpt(token.text) + "'";
    case Token::Kind::string:
      return "\"" + excerpt(token.text) + "\"";
    case Token::Kind::place:
      return "'!" + excerpt(token.text) + "'";
    default:
      return "'" + excerpt(token.text) + "'";
  }
}

void Lexer::fail(std::uint32_t line, std::uint32_t column, const std::string& message) const {
  throw Error(ErrorCode::parse, std::string(file_) + ":" + std::to_string(line) + ":" +
                                    std::to_string(column) + ": " + message);
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

Token Lexer::take(Token::Kind kind, std::size_t begin, std::size_t end) {
  const Token token{kind, text_.substr(begin, end - begin), line_,
                    static_cast<std::uint32_t>(at_ - line_start_ + 1)};
  at_ = end;
  return token;
}

template <class Predicate>
std::size_t Lexer::run(std::size_t from, Predicate belongs) const {
  while (from < text_.size() && belongs(text_[from])) ++from;
  return from;
}

Token Lexer::sigil(Token::Kind kind, std::string_view what) {
  const std::size_t end = run(at_ + 1, is_word);
  if (end == at_ + 1) {
    fail(line_, static_cast<std::uint32_t>(at_ - line_start_ + 1),
         "expected a name or number after '" + std::string(1, text_[at_]) + "', which begins " +
             std::string(what));
  }
  return take(kind, at_ + 1, end);
}

Token Lexer::string() {
  std::size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size() || text_[end] != '"') {
    fail(line_, static_cast<std::uint32_t>(at_ - line_start_ + 1),
         "expected a closing '\"' on the line where the string begins, found none");
  }
  Token token = take(Token::Kind::string, at_ + 1, end);
  at_ = end + 1;
  return token;
}

Token Lexer::next() {
  skip_blanks();
  if (at_ >= text_.size()) return take(Token::Kind::end, text_.size(), text_.size());
  const char c = text_[at_];
  switch (c) {
    case '%':
      return sigil(Token::Kind::value, "a value");
    case '$':
      return sigil(Token::Kind::local, "a local variable");
    case '@':
      return sigil(Token::Kind::symbol, "a parameter");
    case '"':
      return string();
    case '!':
      return take(Token::Kind::place, at_ + 1, run(at_ + 1, [](char d) { return is_digit(d) || d == ':'; }));
    case '{':
    case '}':
    case '(':
    case ')':
    case '[':
    case ']':
    case '<':
    case '>':
    case ',':
    case ':':
    case '=':
    case '.':
      return take(Token::Kind::mark, at_, at_ + 1);
    default:
      break;
  }
  if (is_letter(c)) {
    return take(Token::Kind::name, at_, run(at_, [](char d) { return is_word(d) || d == '.'; }));
  }
  if (is_digit(c) || c == '-' || c == '+') {
    std::size_t end = at_ + 1;
    while (end < text_.size()) {
      const char d = text_[end];
      const char before = text_[end - 1];
      const bool exponent_sign = (d == '+' || d == '-') && (before == 'e' || before == 'E' || before == 'p');
      if (!is_word(d) && d != '.' && !exponent_sign) break;
      ++end;
    }
    return take(Token::Kind::number, at_, end);
  }
  fail(line_, static_cast<std::uint32_t>(at_ - line_start_ + 1),
       "expected a statement or a part of one, found the character '" + excerpt(text_.substr(at_, 1)) + "'");
}

}  // namespace weir::ir
