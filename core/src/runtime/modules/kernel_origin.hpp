// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// Name and source location of a kernel, for errors of a device. Interned: equal origins are one object,
/// which lives as long as the process.
struct KernelOrigin {
  std::string name;
  std::string file;        ///< source file of the launched loop; empty when unknown
  std::uint32_t line = 0;  ///< 0 when unknown

  friend auto operator<=>(const KernelOrigin&, const KernelOrigin&) = default;
};

const KernelOrigin* intern_origin(std::string_view kernel, std::string_view file = {},
                                  std::uint32_t line = 0);

/// "'name'", or "'name' (file:line)".
std::string describe(const KernelOrigin& origin);

}  // namespace weir
