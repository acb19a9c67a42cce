// SPDX-License-Identifier: Apache-2.0
// Struct arrays among the parameters of a kernel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/struct_layout.hpp>

#include "ir/ir.hpp"

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
  /// The array's name, without the suffix of its size's parameter.
  std::string_view name(const Kernel& kernel) const noexcept {
    const std::string_view size = kernel.parameters[first].name;
    return size.substr(0, size.size() - std::string_view("_size").size());
  }
  /// "member 2 of the struct array 'p'". Members are numbered from 1.
  std::string describe_member(const Kernel& kernel, std::size_t parameter) const {
    return "member " + std::to_string(parameter - first) + " of the struct array '" +
           std::string(name(kernel)) + "'";
  }
};

/// "argument 2 ('x')" of a kernel whose struct arrays are `structs`. Arguments count from 1. Generated names
/// count from 0 and are left out. A struct array is one argument; its members are numbered from 1.
std::string describe_argument(const Kernel& kernel, std::span<const StructParameter> structs,
                              std::size_t parameter);

/// The same for an array: "array 'x'", "argument 2" if its name is generated, or the member of a struct
/// array.
std::string describe_array(const Kernel& kernel, std::span<const StructParameter> structs,
                           std::size_t parameter);

}  // namespace weir::ir
