// SPDX-License-Identifier: Apache-2.0
// Environment variables and the syntax of their values. The parsers throw Error{invalid}, which names the
// variable, the expected values and the value found. An empty value counts as unset.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// The value of an environment variable, empty when it is not set.
std::string environment(const char* name);
/// The same; empty also in processes with more rights than their caller.
std::string secure_environment(const char* name);

[[noreturn]] void refuse_environment(std::string_view name, std::string_view value,
                                     std::string_view expected);

/// Seconds as a decimal number, above 0 and at most `max_seconds`, rounded down to at least 1 ms. Nothing
/// when it is empty. `otherwise` describes other accepted values in the error, such as " or off".
std::optional<std::chrono::milliseconds> parse_seconds(std::string_view name, std::string_view value,
                                                       std::uint32_t max_seconds,
                                                       std::string_view otherwise = "");
/// A number of bytes with an optional unit K, M or G (powers of 1024). Nothing when it is empty.
std::optional<std::uint64_t> parse_bytes(std::string_view name, std::string_view value);
/// The index of `value` among `words`; 0, the default, when it is empty.
std::size_t parse_word(std::string_view name, std::string_view value,
                       std::initializer_list<std::string_view> words);

}  // namespace weir
