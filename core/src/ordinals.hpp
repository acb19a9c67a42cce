// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir {

/// Of an array's dimensions, in messages: "the second dimension".
inline constexpr const char* ordinals[] = {"first", "second", "third", "fourth"};

}  // namespace weir
