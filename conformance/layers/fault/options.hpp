// SPDX-License-Identifier: Apache-2.0
// The options of the fault layer.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::fault {

/// "From call number `nth` on, `times` calls of `call` return `result`."
struct Rule {
  std::string call;  ///< a slot's name; empty for all slots
  std::uint64_t nth = 1;
  std::uint64_t times = 1;
  weir_result result = WEIR_ERROR_SYSTEM;  ///< WEIR_OK: the call has no effect and reports success
  std::int64_t device = -1;                ///< restricts the rule to one device; -1 for all
  bool late = false;                       ///< the call succeeds, and the next call on its stream fails
  std::uint64_t seen = 0;                  ///< matching calls so far
};

struct Options {
  std::vector<Rule> rules;
  std::optional<std::uint64_t> memory;   ///< limit of each device in bytes
  std::optional<std::uint64_t> delay;    ///< longest time in milliseconds that work is held back
  std::optional<std::uint64_t> reorder;  ///< seed
};

/// Throws Failure that names the invalid option.
Options parse_options(std::string_view text);

bool is_slot(std::string_view name) noexcept;
/// Whether that function may return success without any effect: true if it has no outputs that its caller
/// would use.
bool may_be_lost(std::string_view name) noexcept;
/// "out_of_memory" for WEIR_ERROR_OUT_OF_MEMORY.
const char* result_word(weir_result result) noexcept;

}  // namespace weir::fault
