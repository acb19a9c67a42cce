// SPDX-License-Identifier: Apache-2.0
// Operands for comparing devices: special values with one another first, then random ones of every size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>
#include <weir/types.hpp>

namespace weir::test {

/// Values of `type` at which arithmetic changes its ways, as zero-extended bits.
std::vector<std::uint64_t> special_values(ScalarType type);

/// The bytes of `count` operands. `which` of several operands it is: the special values of the first three
/// meet in every combination of two.
std::vector<std::byte> operands(ScalarType type, std::size_t count, unsigned which);

/// True for floats that are no number: which one of them an operation gives is not promised.
bool is_nan(ScalarType type, std::uint64_t bits) noexcept;

}  // namespace weir::test
