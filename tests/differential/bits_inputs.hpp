// SPDX-License-Identifier: Apache-2.0
// Operands for comparing devices: first pairs of special values, then random values of every magnitude.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>
#include <weir/types.hpp>

namespace weir::test {

/// Values of `type` at which arithmetic changes its behaviour, as zero-extended bits.
std::vector<std::uint64_t> special_values(ScalarType type);

/// The bytes of `count` operands. `which` is the operand's position. The special values of the first three
/// operands occur in every combination of two.
std::vector<std::byte> operands(ScalarType type, std::size_t count, unsigned which);

}  // namespace weir::test
