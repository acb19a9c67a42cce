// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/ir.hpp"
#include "ir/lexer.hpp"

namespace weir::ir {

/// The tokens of one text, with helpers for its recurring small parts. Unexpected input throws Error{parse}:
/// "FILE:LINE:COLUMN: expected ..., found ...".
class TokenStream {
 public:
  TokenStream(std::string_view text, std::string_view file) : lexer_(text, file) { token_ = lexer_.next(); }

  [[noreturn]] void fail_at(const Token& token, const std::string& message) const {
    lexer_.fail(token.line, token.column, message);
  }
  /// Throws "expected `expected`, found" followed by the current token.
  [[noreturn]] void fail(const std::string& expected) const;

  const Token& token() const { return token_; }
  bool at(Token::Kind kind) const { return token_.kind == kind; }
  bool at_mark(char c) const { return token_.kind == Token::Kind::mark && token_.text.front() == c; }
  bool at_word(std::string_view word) const {
    return token_.kind == Token::Kind::name && token_.text == word;
  }

  Token advance();
  Token expect(Token::Kind kind, const std::string& expected);
  bool accept_mark(char c);
  void expect_mark(char c, std::string_view where);
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word, std::string_view where);

  std::uint64_t number(std::uint64_t limit, const std::string& what, std::uint64_t least = 0);
  std::string string(const std::string& what);
  ScalarType type();

  /// `count` is the number of files that the text declares; with none, places are positions in the text.
  void declare_files(std::size_t count) { files_ = count; }
  /// The place written after a statement that began at `start`, or else the position of `start`.
  Location place(const Token& start);

 private:
  Lexer lexer_;
  Token token_;
  std::size_t files_ = 0;
};

}  // namespace weir::ir
