// SPDX-License-Identifier: Apache-2.0
// The options of the validate layer.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace weir::validate {

struct Options {
  enum class Races : std::uint8_t { off, known, all };
  Races races = Races::known;
  bool leaks = true;
  std::set<std::string, std::less<>> ignored;  ///< kernels whose races are intended
};

/// Throws Failure that names the invalid option.
Options parse_options(std::string_view text);

}  // namespace weir::validate
