// SPDX-License-Identifier: Apache-2.0
#include "ir/token_stream.hpp"

#include <optional>

#include "ir/literals.hpp"

namespace weir::ir {

using Kind = Token::Kind;

void TokenStream::fail(const std::string& expected) const {
  fail_at(token_, "expected " + expected + ", found " + found(token_));
}

Token TokenStream::advance() {
  const Token taken = token_;
  token_ = lexer_.next();
  return taken;
}

Token TokenStream::expect(Kind kind, const std::string& expected) {
  if (token_.kind != kind) fail(expected);
  return advance();
}

bool TokenStream::accept_mark(char c) {
  if (!at_mark(c)) return false;
  advance();
  return true;
}

void TokenStream::expect_mark(char c, std::string_view where) {
  if (!accept_mark(c)) fail("'" + std::string(1, c) + "' " + std::string(where));
}

bool TokenStream::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

void TokenStream::expect_word(std::string_view word, std::string_view where) {
  if (!accept_word(word)) fail("'" + std::string(word) + "' " + std::string(where));
}

std::uint64_t TokenStream::number(std::uint64_t limit, const std::string& what, std::uint64_t least) {
  const auto value = token_.kind == Kind::number ? unsigned_number(token_.text, limit) : std::nullopt;
  if (!value || *value < least)
    fail(what + " from " + std::to_string(least) + " to " + std::to_string(limit));
  advance();
  return *value;
}

std::string TokenStream::string(const std::string& what) {
  const Token token = expect(Kind::string, what + " in double quotes");
  auto text = unquote(token.text);
  if (!text) {
    fail_at(token, "expected \\\" \\\\ \\n \\t or \\x and two digits 0-9 a-f after a backslash, found " +
                       found(token));
  }
  return std::move(*text);
}

ScalarType TokenStream::type() {
  const auto type = token_.kind == Kind::name ? scalar_type(token_.text) : std::nullopt;
  if (!type) fail("a scalar type (bool, i8 to i64, u8 to u64, f16, f32, f64)");
  advance();
  return *type;
}

Location TokenStream::place(const Token& start) {
  if (token_.kind != Kind::place) return files_ != 0 ? Location{} : Location{0, start.line, start.column};
  const Token token = advance();
  const std::size_t first = token.text.find(':');
  const std::size_t second = first == std::string_view::npos ? first : token.text.find(':', first + 1);
  if (second != std::string_view::npos) {
    const auto file = unsigned_number(token.text.substr(0, first), 0xffffffff);
    const auto line = unsigned_number(token.text.substr(first + 1, second - first - 1), 0xffffffff);
    const auto column = unsigned_number(token.text.substr(second + 1), 0xffffffff);
    if (file && line && column) {
      if (*file >= files_) {
        fail_at(token, "expected the number of one of the " + std::to_string(files_) +
                           " files declared above, found " + std::to_string(*file));
      }
      return {static_cast<std::uint32_t>(*file), static_cast<std::uint32_t>(*line),
              static_cast<std::uint32_t>(*column)};
    }
  }
  fail_at(token, "expected a place such as !0:12:5 (file, line, column), found " + found(token));
}

}  // namespace weir::ir
