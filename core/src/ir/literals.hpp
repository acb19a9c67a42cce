// SPDX-License-Identifier: Apache-2.0
// Literals of the text form: numbers, strings and type names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <weir/types.hpp>

namespace weir::ir {

std::optional<ScalarType> scalar_type(std::string_view name) noexcept;

/// A decimal number of at most `limit`.
std::optional<std::uint64_t> unsigned_number(std::string_view text, std::uint64_t limit) noexcept;

/// "0x" and up to 16 hexadecimal digits.
std::optional<std::uint64_t> hex_number(std::string_view text) noexcept;

/// The bits of a constant of `type`, zero extended, rounded once to nearest, to even in the middle of two;
/// nothing when the text is not a number of that type or does not fit. NaNs have no such text.
std::optional<std::uint64_t> constant_bits(std::string_view text, ScalarType type);

/// True when `bits` are those of a NaN of `type`.
bool is_nan(ScalarType type, std::uint64_t bits) noexcept;

/// The NaN that the literal `nan` denotes.
std::uint64_t canonical_nan(ScalarType type) noexcept;

/// The inverse of quote(); nothing when an escape is unknown.
std::optional<std::string> unquote(std::string_view text);

}  // namespace weir::ir
