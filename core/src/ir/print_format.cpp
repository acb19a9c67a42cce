// SPDX-License-Identifier: Apache-2.0
#include "ir/print_format.hpp"

#include <algorithm>

#include "ir/print_buffer.hpp"

namespace weir::ir {

namespace {

constexpr std::size_t max_digits = 3;  // of a width or a precision

std::string in_quotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^';
}

/// The characters of [[fill]align].
std::size_t alignment_length(std::string_view specification) {
  if (specification.size() > 1 && is_align(specification[1])) return 2;
  return !specification.empty() && is_align(specification[0]) ? 1 : 0;
}

/// Reads [[fill]align][sign][#][0][width][.precision][type].
class Specification {
 public:
  explicit Specification(std::string_view text) : rest_(text) {}

  /// The part of the specification that values of `type` do not support, or "".
  std::string refused_for(ScalarType type) {
    const bool boolean = type == ScalarType::boolean, real = is_float(type);
    rest_.remove_prefix(alignment_length(rest_));
    const std::string_view sign = take_any("+- ");
    if (!sign.empty() && (boolean || !(real || is_signed(type)))) return "the sign " + in_quotes(sign);
    if (const auto mark = take_any("#"); !mark.empty() && boolean) return in_quotes(mark);
    if (const auto zero = take_any("0"); !zero.empty() && boolean) return "the padding " + in_quotes(zero);
    if (number() > max_digits) return "a width of more than 999";
    if (!take_any(".").empty()) {
      if (!real) return "a precision";
      const std::size_t digits = number();
      if (digits == 0 || digits > max_digits) return "a precision that is not a number up to 999";
    }
    const std::string_view letters = boolean ? "" : real ? "eEfFgG" : "dxXbo";
    take_any(letters);
    return rest_.empty() ? std::string() : in_quotes(rest_);
  }

 private:
  std::string_view take_any(std::string_view characters) {
    const std::size_t count = !rest_.empty() && characters.find(rest_[0]) != std::string_view::npos;
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::size_t number() {
    std::size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') ++digits;
    rest_.remove_prefix(digits);
    return digits;
  }

  std::string_view rest_;
};

void append_text(PrintFormat& format, char c) {
  if (format.pieces.empty() || format.pieces.back().is_value) format.pieces.emplace_back();
  format.pieces.back().text += c;
}

}  // namespace

std::size_t PrintFormat::values() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(pieces.begin(), pieces.end(), [](const PrintPiece& piece) { return piece.is_value; }));
}

PrintFormat parse_print_format(std::string_view text) {
  PrintFormat format;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      append_text(format, c);
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      append_text(format, c);
      ++i;
      continue;
    }
    const std::size_t end = c == '{' ? text.find_first_of("{}", i + 1) : std::string_view::npos;
    if (end != std::string_view::npos && text[end] == '{' && text[i + 1] == ':') {
      format.problem = "has " + in_quotes(std::string(text.substr(i, end - i + 1))) +
                       ", expected numbers as widths and precisions: they cannot be values";
      return format;
    }
    if (end == std::string_view::npos || text[end] == '{') {
      format.problem = "has a single " + in_quotes(std::string(1, c)) + "; write it twice for a brace";
      return format;
    }
    const std::string_view inside = text.substr(i + 1, end - i - 1);
    if (!inside.empty() && inside[0] != ':') {
      format.problem = "has " + in_quotes("{" + std::string(inside) + "}") +
                       ", expected {} or {:...}: values are printed in their order";
      return format;
    }
    format.pieces.push_back({true, std::string(inside.substr(inside.empty() ? 0 : 1))});
    i = end;
  }
  return format;
}

std::string specification_of(const std::string& text, ScalarType type) {
  const std::size_t alignment = alignment_length(text);
  const std::size_t zero = text.find_first_not_of("+- #", alignment);
  const bool pads = zero != std::string::npos && text[zero] == '0';
  if (alignment != 0) return pads ? text.substr(0, zero) + text.substr(zero + 1) : text;
  return pads || !is_float(type) ? text : '>' + text;
}

std::string print_format_text(std::span<const PrintPiece> pieces) {
  std::string text;
  for (const PrintPiece& piece : pieces) {
    if (piece.is_value) {
      text += piece.text.empty() ? "{}" : "{:" + piece.text + "}";
      continue;
    }
    for (const char c : piece.text) {
      text += c;
      if (c == '{' || c == '}') text += c;
    }
  }
  return text;
}

std::string check_print(std::string_view text, std::span<const ScalarType> types) {
  const PrintFormat format = parse_print_format(text);
  const std::string name = "the format \"" + std::string(text) + "\" ";
  if (!format.problem.empty()) return name + format.problem;
  if (format.values() != types.size())
    return name + "takes " + std::to_string(format.values()) + (format.values() == 1 ? " value" : " values") +
           ", found " + std::to_string(types.size()) + "; write one {} for each value";
  if (types.size() > max_printed_values)
    return "a print takes at most " + std::to_string(max_printed_values) + " values, found " +
           std::to_string(types.size()) + "; print them in several lines";
  std::size_t i = 0;
  for (const PrintPiece& piece : format.pieces) {
    if (!piece.is_value) continue;
    const ScalarType type = types[i++];
    const std::string wrong = Specification(piece.text).refused_for(type);
    if (wrong.empty()) continue;
    return name + "has {:" + piece.text + "} for value " + std::to_string(i) + " of type " +
           std::string(to_string(type)) + ", which does not take " + wrong +
           "; see the formats of print in the documentation of the kernel language";
  }
  return {};
}

}  // namespace weir::ir
