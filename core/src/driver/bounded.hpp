// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace weir {

/// The text in a fixed-size field. A driver's strings may lack their terminating zero.
template <std::size_t N>
std::string_view bounded(const char (&text)[N]) noexcept {
  return {text, strnlen(text, N)};
}

}  // namespace weir
