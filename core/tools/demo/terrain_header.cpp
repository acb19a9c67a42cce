// SPDX-License-Identifier: Apache-2.0
#include "terrain_header.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <weir/error.hpp>

#include "terrain.hpp"

namespace weir::demo {
namespace {

constexpr bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

enum Key {
  ncols,
  nrows,
  xllcorner,
  xllcenter,
  yllcorner,
  yllcenter,
  cellsize,
  dx,
  dy,
  nodata_value,
  key_count
};
constexpr std::array<std::string_view, key_count> key_names = {
    "ncols",     "nrows",    "xllcorner", "xllcenter", "yllcorner",
    "yllcenter", "cellsize", "dx",        "dy",        "nodata_value"};

/// Entries of the header, by key.
struct Entries {
  std::array<std::optional<double>, key_count> value;
  std::array<std::int64_t, key_count> line{};
  bool has(Key key) const { return value[key].has_value(); }
};

Entries read_entries(WordScanner& scanner) {
  Entries entries;
  for (;;) {
    const std::string_view upcoming = scanner.peek();
    if (upcoming.empty() || number(upcoming)) return entries;
    const std::string_view word = scanner.next();
    const std::int64_t key_line = scanner.line();
    int key = 0;
    while (key < key_count && key_names[key] != lower(word)) ++key;
    if (key == key_count) {
      scanner.fail(
          "expected a header key (ncols, nrows, xllcorner, yllcorner, cellsize, NODATA_value) or an "
          "elevation, found " +
          quoted(word) + "; is this an ESRI ASCII grid?");
    }
    if (entries.value[key]) {
      scanner.fail("'" + std::string(key_names[key]) + "' is given twice; the first is on line " +
                   std::to_string(entries.line[key]));
    }
    const std::string_view text = scanner.next();
    if (text.empty() || scanner.line() != key_line)
      scanner.fail_at(key_line, "'" + std::string(key_names[key]) + "' has no value on its line");
    entries.value[key] = number(text);
    entries.line[key] = key_line;
    if (!entries.value[key])
      scanner.fail("'" + std::string(key_names[key]) + "' is " + quoted(text) + ", expected a finite number");
  }
}

std::int64_t side(const WordScanner& scanner, const Entries& entries, Key key) {
  const double value = *entries.value[key];
  if (value != std::floor(value) || value < min_terrain_side || value > max_terrain_side) {
    std::array<char, 32> text{};
    std::to_chars(text.data(), text.data() + text.size() - 1, value);
    scanner.fail_at(entries.line[key], "'" + std::string(key_names[key]) + "' is " + text.data() +
                                           ", expected a whole number from " +
                                           std::to_string(min_terrain_side) + " to " +
                                           std::to_string(max_terrain_side));
  }
  return static_cast<std::int64_t>(value);
}

double length(const WordScanner& scanner, const Entries& entries, Key key) {
  const double value = *entries.value[key];
  if (!(value > 1e-7 && value < 1e6))
    scanner.fail_at(entries.line[key], "'" + std::string(key_names[key]) + "' is " + std::to_string(value) +
                                           ", expected a cell size above 0 in degrees or metres");
  return value;
}

/// The grid's outer corner, from the key for the corner or for the centre of the first cell.
double corner(const WordScanner& scanner, const Entries& entries, Key at_corner, Key at_center, double cell) {
  if (entries.has(at_corner) && entries.has(at_center)) {
    scanner.fail_at(entries.line[at_center], "both '" + std::string(key_names[at_corner]) + "' and '" +
                                                 std::string(key_names[at_center]) + "' are given; keep one");
  }
  if (entries.has(at_corner)) return *entries.value[at_corner];
  if (entries.has(at_center)) return *entries.value[at_center] - cell / 2;
  scanner.fail("the header ends without '" + std::string(key_names[at_corner]) + "' or '" +
               std::string(key_names[at_center]) + "'");
}

}  // namespace

std::string_view WordScanner::next() {
  const std::string_view word = ahead_ ? *ahead_ : scan();
  ahead_.reset();
  // At the end the line of the last word is kept, so that a message refers to a line with text.
  if (!word.empty()) word_line_ = line_;
  return word;
}

std::string_view WordScanner::peek() {
  if (!ahead_) ahead_ = scan();
  return *ahead_;
}

std::string_view WordScanner::scan() {
  std::size_t begin = position_;
  const auto more = [&] { return position_ < text_.size() || refill(begin); };
  for (; more() && is_space(text_[position_]); begin = ++position_)
    if (text_[position_] == '\n') ++line_;
  while (more() && !is_space(text_[position_])) ++position_;
  return text_.substr(begin, position_ - begin);
}

/// Reads a block after the bytes from `kept` on, which becomes 0. False at the end of the text.
bool WordScanner::refill(std::size_t& kept) {
  constexpr std::size_t block = std::size_t{1} << 16;
  if (unread_ == 0) return false;
  block_.erase(0, kept);
  position_ -= kept;
  kept = 0;
  const std::size_t held = block_.size();
  block_.resize(held + std::min(unread_, block));
  errno = 0;
  file_->read(block_.data() + held, static_cast<std::streamsize>(block_.size() - held));
  if (file_->bad())
    throw Error(ErrorCode::system, std::string(name_) + ": cannot read the terrain: " + std::strerror(errno));
  const auto found = static_cast<std::size_t>(file_->gcount());
  unread_ = found == block_.size() - held ? unread_ - found : 0;  // it may have become shorter
  block_.resize(held + found);
  text_ = block_;
  return found > 0;
}

void WordScanner::fail_at(std::int64_t line, const std::string& message) const {
  throw Error(ErrorCode::parse, std::string(name_) + ":" + std::to_string(line) + ": " + message);
}

std::string quoted(std::string_view word) {
  constexpr std::size_t shown = 24;
  constexpr const char* digits = "0123456789abcdef";
  std::string text = "'";
  for (char c : word.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += "\\x";
      text += digits[byte >> 4];
      text += digits[byte & 15];
    }
  }
  return text + (word.size() > shown ? "...'" : "'");
}

std::optional<double> number(std::string_view word) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

TerrainHeader read_header(WordScanner& scanner) {
  const Entries entries = read_entries(scanner);
  for (Key key : {ncols, nrows}) {
    if (!entries.has(key)) scanner.fail("the header ends without '" + std::string(key_names[key]) + "'");
  }
  TerrainHeader header;
  header.cols = side(scanner, entries, ncols);
  header.rows = side(scanner, entries, nrows);
  if (header.cols * header.rows > max_terrain_cells) {
    scanner.fail_at(entries.line[nrows], "the grid has " + std::to_string(header.cols * header.rows) +
                                             " cells, expected at most " + std::to_string(max_terrain_cells));
  }
  const bool square = entries.has(cellsize);
  if (square && (entries.has(dx) || entries.has(dy)))
    scanner.fail_at(entries.line[entries.has(dx) ? dx : dy],
                    "both 'cellsize' and 'dx' or 'dy' are given; keep one");
  if (!square && !(entries.has(dx) && entries.has(dy)))
    scanner.fail("the header ends without 'cellsize' (or 'dx' and 'dy')");
  header.cell_x = length(scanner, entries, square ? cellsize : dx);
  header.cell_y = length(scanner, entries, square ? cellsize : dy);
  header.west = corner(scanner, entries, xllcorner, xllcenter, header.cell_x);
  header.south = corner(scanner, entries, yllcorner, yllcenter, header.cell_y);
  header.no_data = entries.value[nodata_value];
  return header;
}

}  // namespace weir::demo
