// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// What errors of a device tell of a kernel. Interned: equal ones are one object, which lives as long as the
/// process.
struct KernelOrigin {
  std::string name;
  std::string file;        ///< where the launched loop was written; empty when not known
  std::uint32_t line = 0;  ///< 0 when not known

  friend auto operator<=>(const KernelOrigin&, const KernelOrigin&) = default;
};

const KernelOrigin* intern_origin(std::string_view kernel, std::string_view file = {},
                                  std::uint32_t line = 0);

/// "'name'", or "'name' (file:line)".
std::string describe(const KernelOrigin& origin);

}  // namespace weir
