// SPDX-License-Identifier: Apache-2.0
// Splits the text form into tokens. Whitespace and `// comments` only separate tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::ir {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    name,    ///< add, scratch.load, f32
    value,   ///< %name, `text` without the sign
    local,   ///< $name, `text` without the sign
    symbol,  ///< @name, `text` without the sign
    string,  ///< "...", `text` between the quotes, escapes as written
    number,  ///< 12, -1.5e+3, 0x7f
    place,   ///< !file:line:column, `text` without the sign
    mark     ///< one of { } ( ) [ ] < > , : = .
  };
  Kind kind = Kind::end;
  std::string_view text;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Token next();

  /// Throws Error{parse}: "FILE:LINE:COLUMN: message".
  [[noreturn]] void fail(std::uint32_t line, std::uint32_t column, const std::string& message) const;

 private:
  void skip_blanks();
  Token take(Token::Kind kind, std::size_t begin, std::size_t end);
  template <class Predicate>
  std::size_t run(std::size_t from, Predicate belongs) const;
  Token sigil(Token::Kind kind, std::string_view what);
  Token string();

  std::string_view text_, file_;
  std::size_t at_ = 0, line_start_ = 0;
  std::uint32_t line_ = 1;
};

/// The name of a token in messages: "'add'", "a string", "the end of the text".
std::string found(const Token& token);

}  // namespace weir::ir
