// SPDX-License-Identifier: Apache-2.0
// The header of an ESRI ASCII grid, and the scanner that reads words and counts lines.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace weir::demo {

/// Splits a text into words and records the line of each. A word is valid until the next call.
class WordScanner {
 public:
  WordScanner(std::string_view text, std::string_view name) : text_(text), name_(name) {}
  /// Reads `file`, of `bytes` bytes, in blocks. Calls throw Error{system} if it cannot be read.
  WordScanner(std::istream& file, std::size_t bytes, std::string_view name)
      : name_(name), file_(&file), unread_(bytes) {}
  WordScanner(const WordScanner&) = delete;
  WordScanner& operator=(const WordScanner&) = delete;

  /// The next word, or an empty one at the end. Spaces, tabs, CR and LF separate.
  std::string_view next();
  /// The word that next() will return.
  std::string_view peek();
  /// Line of the word last returned by next(); from 1.
  std::int64_t line() const noexcept { return word_line_; }
  /// Bytes after the last word.
  std::size_t left() const noexcept { return text_.size() - position_ + unread_; }

  /// Throws Error{parse} "NAME:LINE: message".
  [[noreturn]] void fail(const std::string& message) const { fail_at(word_line_, message); }
  [[noreturn]] void fail_at(std::int64_t line, const std::string& message) const;

 private:
  std::string_view scan();
  bool refill(std::size_t& kept);

  std::string_view text_;  ///< all of it, or the block
  std::string_view name_;
  std::istream* file_ = nullptr;
  std::size_t unread_ = 0;  ///< bytes of the file after the block
  std::string block_;
  std::optional<std::string_view> ahead_;  ///< the word that peek() has returned
  std::size_t position_ = 0;
  std::int64_t line_ = 1;
  std::int64_t word_line_ = 1;
};

/// Formats a word for a message: in quotes, unprintable bytes as \xNN, truncated if long.
std::string quoted(std::string_view word);

/// The finite number in `word`, or nullopt.
std::optional<double> number(std::string_view word);

struct TerrainHeader {
  std::int64_t cols = 0;
  std::int64_t rows = 0;
  double west = 0;  ///< of the grid's outer corner, in the file's unit
  double south = 0;
  double cell_x = 0;
  double cell_y = 0;
  std::optional<double> no_data;
};

/// Reads header lines up to the first elevation. Throws Error{parse} that names the line.
TerrainHeader read_header(WordScanner& scanner);

}  // namespace weir::demo
