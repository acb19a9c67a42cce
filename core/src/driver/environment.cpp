// SPDX-License-Identifier: Apache-2.0
#include "driver/environment.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <weir/error.hpp>

#include "foreign_text.hpp"

namespace weir {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::string secure_environment(const char* name) {
  const char* const value = secure_getenv(name);
  return value ? value : "";
}

void refuse_environment(std::string_view name, std::string_view value, std::string_view expected) {
  throw Error(ErrorCode::invalid,
              fmt::format("the environment variable {} is '{:.64}'; expected {}; correct or unset it", name,
                          without_control_characters(value), expected));
}

std::optional<std::chrono::milliseconds> parse_seconds(std::string_view name, std::string_view value,
                                                       std::uint32_t max_seconds,
                                                       std::string_view otherwise) {
  if (value.empty()) return {};
  double seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, seconds);
  if (error != std::errc() || rest != end || !(seconds > 0) || seconds > max_seconds)
    refuse_environment(
        name, value,
        fmt::format("a number of seconds above 0 and at most {}, as in 2.5{}", max_seconds, otherwise));
  return std::chrono::milliseconds(std::max(1ll, static_cast<long long>(seconds * 1000)));
}

std::optional<std::uint64_t> parse_bytes(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  std::uint64_t bytes = 0;
  const char* const end = value.data() + value.size();
  auto [rest, error] = std::from_chars(value.data(), end, bytes);
  if (error == std::errc() && rest != end) {
    static constexpr std::string_view units = "KMG";
    const std::size_t unit = units.find(*rest);
    if (unit != units.npos && bytes <= std::numeric_limits<std::uint64_t>::max() >> 10 * (unit + 1)) {
      bytes <<= 10 * (unit + 1);
      ++rest;
    }
  }
  if (error != std::errc() || rest != end)
    refuse_environment(name, value, "a number of bytes, as in 268435456 or 256M");
  return bytes;
}

std::size_t parse_word(std::string_view name, std::string_view value,
                       std::initializer_list<std::string_view> words) {
  if (value.empty()) return 0;
  const auto found = std::ranges::find(words, value);
  if (found == words.end()) refuse_environment(name, value, fmt::format("{}", fmt::join(words, " or ")));
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace weir
