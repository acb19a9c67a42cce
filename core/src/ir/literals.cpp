// SPDX-License-Identifier: Apache-2.0
#include "ir/literals.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <compare>
#include <iterator>
#include <limits>
#include <string>
#include <weir/element.hpp>
#include <weir/sdk/floating_point.hpp>

namespace weir::ir {

namespace {

template <class T>
std::optional<T> whole(std::string_view text, auto... format) noexcept {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format...);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<float> finite_or_infinite(std::string_view text) noexcept {
  if (text == "inf") return std::numeric_limits<float>::infinity();
  if (text == "-inf") return -std::numeric_limits<float>::infinity();
  return std::nullopt;
}

// Accepts digits, sign and exponent only, because from_chars also accepts "nan" and "infinity".
bool is_decimal(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
}

template <class T>
std::optional<T> real(std::string_view text) noexcept {
  if (const auto infinite = finite_or_infinite(text)) return static_cast<T>(*infinite);
  if (!is_decimal(text)) return std::nullopt;
  const auto value = whole<T>(text);
  if (value) return value;
  // from_chars refuses small numbers that round to 0, as it refuses large ones.
  const auto wide = whole<long double>(text);
  return wide && std::abs(*wide) < 1 ? std::optional<T>(static_cast<T>(*wide)) : std::nullopt;
}

/// The magnitude of a decimal number: 0.DIGITS times a power of ten, without zeros at the ends of the digits.
struct Decimal {
  std::string digits;
  std::int64_t exponent = 0;

  /// Of a number that std::from_chars takes.
  explicit Decimal(std::string_view text) {
    const std::size_t end = std::min(text.find_first_of("eE"), text.size());
    if (end < text.size()) {
      const std::string_view power = text.substr(end + 1 + text.substr(end + 1).starts_with('+'));
      exponent = whole<std::int64_t>(power).value_or(0);
    }
    bool is_fraction = false;
    for (const char c : text.substr(0, end)) {
      if (c == '.') is_fraction = true;
      if (c < '0' || c > '9') continue;
      const bool leads = digits.empty() && c == '0';
      if (!leads) digits += c;
      exponent += !is_fraction && !leads ? 1 : is_fraction && leads ? -1 : 0;
    }
    digits.erase(digits.find_last_not_of('0') + 1);
  }
  std::strong_ordering operator<=>(const Decimal& other) const {
    if (const auto order = exponent <=> other.exponent; order != 0) return order;
    return digits <=> other.digits;
  }
};

/// Rounds once. The nearest double is replaced by that neighbour of the number whose last bit is set, unless
/// it equals the number: such a double lies on the same side of each half, and of the middle of two, as the
/// number.
std::optional<half> real_half(std::string_view text) {
  const std::optional<double> value = real<double>(text);
  if (!value || *value == 0 || std::isinf(*value) || std::bit_cast<std::uint64_t>(*value) & 1)
    return value ? std::optional(half(*value)) : std::nullopt;
  char exact[900];
  const char* const end =
      std::to_chars(exact, std::end(exact), std::abs(*value), std::chars_format::scientific, 800).ptr;
  const auto order = Decimal(text) <=> Decimal(std::string_view(exact, end));
  const double next = order > 0 ? std::copysign(std::numeric_limits<double>::infinity(), *value) : 0.0;
  return half(order == 0 ? *value : std::nextafter(*value, next));
}

std::optional<std::uint64_t> integer_bits(std::string_view text, ScalarType type) noexcept {
  const unsigned unused = 64 - 8 * static_cast<unsigned>(size_of(type));
  const std::uint64_t mask = ~std::uint64_t{0} >> unused;
  if (!is_signed(type)) return unsigned_number(text, mask);
  const auto value = whole<std::int64_t>(text);
  const auto limit = static_cast<std::int64_t>(mask >> 1);
  if (!value || *value > limit || *value < -limit - 1) return std::nullopt;
  return static_cast<std::uint64_t>(*value) & mask;
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<ScalarType> scalar_type(std::string_view name) noexcept {
  for (int i = 0; i <= static_cast<int>(ScalarType::f64); ++i) {
    const auto type = static_cast<ScalarType>(i);
    if (to_string(type) == name) return type;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> unsigned_number(std::string_view text, std::uint64_t limit) noexcept {
  const auto value = whole<std::uint64_t>(text);
  return value && *value <= limit ? value : std::nullopt;
}

std::optional<std::uint64_t> hex_number(std::string_view text) noexcept {
  if (!text.starts_with("0x") || text.size() > 18) return std::nullopt;
  return whole<std::uint64_t>(text.substr(2), 16);
}

std::optional<std::uint64_t> constant_bits(std::string_view text, ScalarType type) {
  const sdk::DefaultFloatingPoint floating_point;  // std::from_chars multiplies by powers of ten
  switch (type) {
    case ScalarType::boolean:
      if (text == "true") return 1;
      if (text == "false") return 0;
      return std::nullopt;
    case ScalarType::f16: {
      const auto value = real_half(text);
      if (!value) return std::nullopt;
      const bool overflows = (value->bits() & 0x7fffu) == 0x7c00u && !finite_or_infinite(text);
      return overflows ? std::nullopt : std::optional<std::uint64_t>{value->bits()};
    }
    case ScalarType::f32: {
      const auto value = real<float>(text);
      return value ? std::optional<std::uint64_t>{std::bit_cast<std::uint32_t>(*value)} : std::nullopt;
    }
    case ScalarType::f64: {
      const auto value = real<double>(text);
      return value ? std::optional<std::uint64_t>{std::bit_cast<std::uint64_t>(*value)} : std::nullopt;
    }
    default:
      return integer_bits(text, type);
  }
}

bool is_nan(ScalarType type, std::uint64_t bits) noexcept {
  switch (type) {
    case ScalarType::f16:
      return bits <= 0xffff && (bits & 0x7fff) > 0x7c00;
    case ScalarType::f32:
      return bits <= 0xffffffff && (bits & 0x7fffffff) > 0x7f800000;
    case ScalarType::f64:
      return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default:
      return false;
  }
}

std::uint64_t canonical_nan(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::f16:
      return 0x7e00;
    case ScalarType::f32:
      return 0x7fc00000;
    default:
      return 0x7ff8000000000000;
  }
}

std::optional<std::string> unquote(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case '"':
      case '\\':
        out += text[i];
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'x': {
        if (i + 2 >= text.size()) return std::nullopt;
        const int high = hex_digit(text[i + 1]);
        const int low = hex_digit(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        out += static_cast<char>(high * 16 + low);
        i += 2;
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return out;
}

}  // namespace weir::ir
