// SPDX-License-Identifier: Apache-2.0
// Short names of AMD's operand types.
#pragma once
#include <cstdint>

namespace weir::hipsim {
using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using f32 = float;
using f64 = double;
static_assert(sizeof(f32) == 4 && sizeof(f64) == 8);

/// The quiet NaN that an invalid operation returns.
inline constexpr u32 quiet_nan_f32 = 0x7fc00000u;
inline constexpr u64 quiet_nan_f64 = 0x7ff8000000000000ull;
inline constexpr u16 quiet_nan_f16 = 0x7e00u;
}  // namespace weir::hipsim
