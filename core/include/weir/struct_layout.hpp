// SPDX-License-Identifier: Apache-2.0
// Arrangements of arrays of structs in memory. sdk/docs/structs.md explains their use.
//
// Plain values without synchronisation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <weir/export.hpp>
#include <weir/types.hpp>

namespace weir {

/// The arrangement of a struct array in memory. Kernels take arrays of every layout.
class Layout {
 public:
  enum class Kind : std::uint8_t { structs, arrays, blocks };

  /// struct_of_arrays().
  constexpr Layout() noexcept = default;
  /// One struct after the other, with the padding of the host's struct: the same bytes as a std::vector<T>.
  static constexpr Layout array_of_structs() noexcept { return {Kind::structs, 0}; }
  /// One array for each member: fastest where a loop uses few members.
  static constexpr Layout struct_of_arrays() noexcept { return {}; }
  /// Blocks of `length` structs, each with one array for each member. Throws Error{invalid} unless `length`
  /// is a power of two from 2 to 65,536.
  WEIR_API static Layout blocks(std::int64_t length);

  constexpr Kind kind() const noexcept { return kind_; }
  /// Structs of a block; 0 unless kind() is Kind::blocks.
  constexpr std::uint32_t block_length() const noexcept { return block_length_; }
  friend constexpr bool operator==(const Layout&, const Layout&) = default;

 private:
  constexpr Layout(Kind kind, std::uint32_t length) noexcept : kind_(kind), block_length_(length) {}
  Kind kind_ = Kind::arrays;
  std::uint32_t block_length_ = 0;
};

/// "an array of structs", "a struct of arrays", "blocks of 8 structs".
WEIR_API std::string to_string(const Layout& layout);

namespace detail {

/// A member of a struct, or of a struct or array in it, that arrays can hold as an element. `rank` counts the
/// arrays of fixed length around it, outermost first.
struct StructMember {
  static constexpr std::size_t max_member_rank = max_rank - 1;
  ElementType element;
  std::uint32_t offset = 0;  ///< of its first element in the struct, in bytes
  std::uint8_t rank = 0;
  std::array<std::uint32_t, max_member_rank> extents{};
  std::array<std::uint32_t, max_member_rank> strides{};  ///< in the struct, in bytes

  /// Elements in one struct.
  constexpr std::uint64_t count() const noexcept {
    std::uint64_t count = 1;
    for (std::size_t d = 0; d < rank; ++d) count *= extents[d];
    return count;
  }
  constexpr std::uint64_t size_bytes() const noexcept { return count() * element.size(); }
};

/// A struct type as data. `members` live as long as the process.
struct StructType {
  std::uint32_t size_bytes = 0;
  std::span<const StructMember> members;
};

/// Bytes from the start of a row to the first element of member `m`; of `members.size()`, to the end of the
/// row. A row is one struct, one block, or with Layout::struct_of_arrays() the whole array of `size` structs.
constexpr std::uint64_t member_place(const StructType& type, const Layout& layout, std::uint64_t size,
                                     std::size_t m) noexcept {
  if (layout.kind() == Layout::Kind::structs)
    return m < type.members.size() ? type.members[m].offset : type.size_bytes;
  const bool blocks = layout.kind() == Layout::Kind::blocks;
  const std::uint64_t length = blocks ? layout.block_length() : size;
  const std::uint64_t alignment = blocks ? 16 : 64;  // of the widest access of a GPU thread, of a CPU vector
  std::uint64_t place = 0;
  for (std::size_t before = 0; before < m; ++before) {
    place += type.members[before].size_bytes() * length;
    place = (place + alignment - 1) / alignment * alignment;
  }
  return place;
}

}  // namespace detail
}  // namespace weir
