// SPDX-License-Identifier: Apache-2.0
// The operations of atomics on global memory and LDS.
#pragma once
#include <string_view>

#include "isa/numbers/numbers.hpp"

namespace weir::hipsim {

/// `compare` is used by compare-and-swap only. 32-bit values are in the low half.
using AtomicFunction = u64 (*)(u64 old, u64 data, u64 compare);

struct AtomicName {
  /// As in global_atomic_NAME before GFX11, with _x2 for 64 bits; empty if absent.
  std::string_view old_global;
  /// As in global_atomic_NAME from GFX11 on, and in ds_NAME.
  std::string_view name;
  unsigned bytes;
  AtomicFunction function;
  bool compares = false;
};

inline constexpr std::size_t atomic_name_count = 45;
extern const AtomicName atomic_names[atomic_name_count];

}  // namespace weir::hipsim
