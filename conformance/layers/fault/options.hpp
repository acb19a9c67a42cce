// SPDX-License-Identifier: Apache-2.0
// What the fault layer was told to do.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::fault {

/// "From call number `nth` on, `times` calls of `call` answer `result`."
struct Rule {
  std::string call;  ///< a slot's name; empty for all
  std::uint64_t nth = 1;
  std::uint64_t times = 1;
  weir_result result = WEIR_ERROR_SYSTEM;  ///< WEIR_OK: nothing is done, and nobody is told
  std::int64_t device = -1;  ///< calls that concern this device only; -1 for all
  bool late = false;         ///< the call succeeds, and the next call on its stream fails
  std::uint64_t seen = 0;    ///< calls that it was asked about
};

struct Options {
  std::vector<Rule> rules;
  std::optional<std::uint64_t> memory;   ///< bytes of each device
  std::optional<std::uint64_t> delay;    ///< milliseconds that work is held back at most
  std::optional<std::uint64_t> reorder;  ///< seed
};

/// Throws Failure that names the word that is wrong.
Options parse_options(std::string_view text);

bool is_slot(std::string_view name) noexcept;
/// Whether nobody is left with something that was not filled in when that function does nothing and says that
/// it has succeeded.
bool may_be_lost(std::string_view name) noexcept;
/// "out_of_memory" for WEIR_ERROR_OUT_OF_MEMORY.
const char* result_word(weir_result result) noexcept;

}  // namespace weir::fault
