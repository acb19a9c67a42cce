// SPDX-License-Identifier: Apache-2.0
// What the validate layer was told.
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
  std::set<std::string, std::less<>> ignored;  ///< kernels whose races are meant
};

/// Throws Failure that names the word that is wrong.
Options parse_options(std::string_view text);

}  // namespace weir::validate
