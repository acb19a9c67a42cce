// SPDX-License-Identifier: Apache-2.0
// Detects leaks of objects that are created and destroyed thousands of times.
#pragma once

#include <functional>

#include "objects.hpp"

namespace weir::conformance {

/// Runs `cycle` `cycles` times, each of which creates and destroys `together` objects, and longer while the
/// growth since the first rounds is not flat. Pools and work in flight are bounded, so their share per object
/// shrinks with more rounds; a leak grows with them. A shrinking heap could hide a leak, so it is not flat
/// either.
void expect_flat(const char* what, int cycles, const std::function<void()>& cycle, int together = 1);

inline constexpr int often = 10'000;
/// For objects whose creation takes long with some drivers.
int sometimes();

}  // namespace weir::conformance
