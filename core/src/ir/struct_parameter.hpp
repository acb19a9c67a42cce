// SPDX-License-Identifier: Apache-2.0
// Struct arrays among the parameters of a kernel.
#pragma once

#include <cstdint>
#include <vector>
#include <weir/struct_layout.hpp>

namespace weir::ir {

/// A struct array: its size, an i64 at position `first` of the parameters, and after it an array for each
/// member, of 1 + StructMember::rank dimensions.
struct StructParameter {
  std::uint32_t first = 0;
  std::uint32_t size_bytes = 0;  ///< of a struct
  std::vector<detail::StructMember> members;

  /// Whether a parameter is one of the members.
  bool has_member(std::size_t parameter) const noexcept {
    return parameter > first && parameter <= first + members.size();
  }
};

}  // namespace weir::ir
