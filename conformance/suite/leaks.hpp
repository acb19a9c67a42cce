// SPDX-License-Identifier: Apache-2.0
// Finds out whether objects that are made and destroyed thousands of times leave something behind.
#pragma once

#include <functional>

#include "objects.hpp"

namespace weir::conformance {

/// Runs `cycle` `cycles` times, each of which creates and destroys `together` objects, and longer while the
/// growth since the first rounds is not flat. What a driver keeps in pools and in flight has a bound, which
/// more rounds divide by a larger number; a leak grows with them. A shrinking heap could hide a leak and is
/// not flat either.
void expect_flat(const char* what, int cycles, const std::function<void()>& cycle, int together = 1);

inline constexpr int often = 10'000;
/// For objects whose creation takes long with some drivers.
int sometimes();

}  // namespace weir::conformance
