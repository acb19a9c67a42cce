// SPDX-License-Identifier: Apache-2.0
#include "ir/literals.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <weir/element.hpp>

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

std::optional<std::uint64_t> constant_bits(std::string_view text, ScalarType type) noexcept {
  switch (type) {
    case ScalarType::boolean:
      if (text == "true") return 1;
      if (text == "false") return 0;
      return std::nullopt;
    case ScalarType::f16: {
      const auto value = real<float>(text);
      if (!value) return std::nullopt;
      const half rounded{*value};
      const bool overflows = (rounded.bits() & 0x7fffu) == 0x7c00u && !finite_or_infinite(text);
      return overflows ? std::nullopt : std::optional<std::uint64_t>{rounded.bits()};
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
