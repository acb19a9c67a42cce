// SPDX-License-Identifier: Apache-2.0
// Struct arrays: their sizes, their members as arrays, and copies of structs between layouts on the host.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <weir/struct_array.hpp>

namespace weir {

Layout Layout::blocks(std::int64_t length) try {
  if (length < 2 || length > 65536 || !std::has_single_bit(static_cast<std::uint64_t>(length)))
    throw Error(
        ErrorCode::invalid,
        fmt::format("blocks of {} structs; the length of a block is a power of two from 2 to 65536", length));
  return {Kind::blocks, static_cast<std::uint32_t>(length)};
} catch (...) {
  detail::rethrow_as_error();
}

std::string to_string(const Layout& layout) try {
  switch (layout.kind()) {
    case Layout::Kind::structs:
      return "an array of structs";
    case Layout::Kind::arrays:
      return "a struct of arrays";
    default:
      return fmt::format("blocks of {} structs", layout.block_length());
  }
} catch (...) {
  detail::rethrow_as_error();
}

namespace detail {
namespace {

std::uint64_t row_count(const Layout& layout, std::uint64_t size) noexcept {
  switch (layout.kind()) {
    case Layout::Kind::structs:
      return size;
    case Layout::Kind::arrays:
      return 1;
    default:
      return (size + layout.block_length() - 1) / layout.block_length();
  }
}

/// The extents of a member of Layout::struct_of_arrays().
std::array<std::int64_t, max_rank> extents_of(const StructMember& member, std::size_t size) noexcept {
  std::array<std::int64_t, max_rank> extents{static_cast<std::int64_t>(size)};
  std::copy_n(member.extents.begin(), member.rank, extents.begin() + 1);
  return extents;
}

AnyArrayView whole_member(const AnyArrayView& bytes, const StructType& type, const Layout& layout,
                          std::size_t size, std::size_t m) noexcept {
  const StructMember& member = type.members[m];
  const auto extents = extents_of(member, size);
  return bytes.reinterpreted(member_place(type, layout, size, m), member.element,
                             std::span(extents).first(1 + member.rank));
}

/// Calls `copy` with the offset in the struct and that in the packed member, for each of its elements.
template <class Copy>
void each_element(const StructMember& member, Copy&& copy) {
  const std::uint64_t count = member.count(), size = member.element.size();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t offset = member.offset, rest = i;
    for (std::size_t d = member.rank; d-- > 0; rest /= member.extents[d])
      offset += rest % member.extents[d] * member.strides[d];
    copy(offset, i * size);
  }
}

/// Calls `copy` with the places in the structs and in the bytes of a layout, and the size, of each element.
template <class Copy>
void each_place(const StructType& type, const Layout& layout, std::size_t size, Copy&& copy) {
  const std::uint64_t length = layout.kind() == Layout::Kind::blocks ? layout.block_length() : size;
  const std::uint64_t row_bytes = member_place(type, layout, size, type.members.size());
  for (std::size_t m = 0; m < type.members.size(); ++m) {
    const StructMember& member = type.members[m];
    const std::uint64_t place = member_place(type, layout, size, m), bytes = member.size_bytes();
    each_element(member, [&](std::uint64_t in_struct, std::uint64_t in_member) {
      for (std::size_t i = 0; i < size; ++i)
        copy(i * type.size_bytes + in_struct, i / length * row_bytes + place + i % length * bytes + in_member,
             member.element.size());
    });
  }
}

void check_count(const StructType& type, std::size_t size, std::size_t bytes) {
  if (bytes != size * type.size_bytes)
    throw Error(ErrorCode::invalid,
                fmt::format("a copy needs {} structs on the host, as the struct array has, but was given {}",
                            size, bytes / type.size_bytes));
}

}  // namespace

std::int64_t struct_array_bytes(const StructType& type, const Layout& layout, std::int64_t size) try {
  for (const StructMember& member : type.members)
    if (const std::size_t scalar = size_of(member.element.scalar);
        member.offset % scalar != 0 || type.size_bytes % scalar != 0)
      throw Error(ErrorCode::invalid,
                  fmt::format("a struct of {} bytes with a member of {} at byte {}; members of structs in "
                              "arrays must be aligned, so remove the packing of the struct",
                              type.size_bytes, to_string(member.element), member.offset));
  if (size < 0)
    throw Error(ErrorCode::invalid, fmt::format("a struct array of {} structs; sizes are 0 or more", size));
  // The alignment of members adds less than the structs of two blocks of the layout and 64 bytes for each
  // member.
  constexpr std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max() / 2;
  if (size > max_bytes / type.size_bytes)
    throw Error(ErrorCode::invalid,
                fmt::format("a struct array of {} structs of {} bytes is larger than any memory; check for a "
                            "negative number that became unsigned",
                            size, type.size_bytes));
  const auto count = static_cast<std::uint64_t>(size);
  return static_cast<std::int64_t>(row_count(layout, count) *
                                   member_place(type, layout, count, type.members.size()));
} catch (...) {
  rethrow_as_error();
}

void member_arguments(const AnyArrayView& bytes, const StructType& type, const Layout& layout,
                      std::size_t size, AnyArrayView* out) noexcept {
  const bool whole = layout.kind() == Layout::Kind::arrays;
  const std::uint64_t row_bytes = member_place(type, layout, size, type.members.size());
  const std::uint64_t rows = row_count(layout, size);
  for (std::size_t m = 0; m < type.members.size(); ++m) {
    if (whole) {
      *out++ = whole_member(bytes, type, layout, size, m);
      continue;
    }
    const ElementType scalar{type.members[m].element.scalar};
    const std::int64_t extents[] = {static_cast<std::int64_t>(rows),
                                    static_cast<std::int64_t>(row_bytes / scalar.size())};
    *out++ = bytes.reinterpreted(0, scalar, extents);
  }
}

AnyArrayView member_array(const AnyArrayView& bytes, const StructType& type, const Layout& layout,
                          std::size_t size, std::uint32_t offset) try {
  if (layout.kind() == Layout::Kind::blocks)
    throw Error(ErrorCode::invalid,
                fmt::format("a member of a struct array in blocks is no array, and this one is {}; copy the "
                            "member to an array by a kernel",
                            to_string(layout)));
  const auto found = std::ranges::find(type.members, offset, &StructMember::offset);
  if (layout.kind() == Layout::Kind::structs) {
    const StructMember& member = *found;
    const auto scalar = static_cast<std::int64_t>(size_of(member.element.scalar));
    const auto extents = extents_of(member, size);
    std::array<std::int64_t, max_rank> strides{type.size_bytes / scalar};
    for (std::size_t d = 0; d < member.rank; ++d) strides[1 + d] = member.strides[d] / scalar;
    return bytes.with_strides(member.offset, member.element, std::span(extents).first(1 + member.rank),
                              std::span(strides).first(1 + member.rank));
  }
  return whole_member(bytes, type, layout, size, static_cast<std::size_t>(found - type.members.begin()));
} catch (...) {
  rethrow_as_error();
}

std::vector<std::byte> arrange_structs(const StructType& type, const Layout& layout, std::size_t size,
                                       std::span<const std::byte> structs) try {
  check_count(type, size, structs.size());
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(struct_array_bytes(type, layout, static_cast<std::int64_t>(size))));
  each_place(type, layout, size, [&](std::uint64_t from, std::uint64_t to, std::size_t count) {
    std::memcpy(bytes.data() + to, structs.data() + from, count);
  });
  return bytes;
} catch (...) {
  rethrow_as_error();
}

void collect_structs(const StructType& type, const Layout& layout, std::size_t size,
                     std::span<const std::byte> bytes, std::span<std::byte> structs) try {
  check_count(type, size, structs.size());
  each_place(type, layout, size, [&](std::uint64_t to, std::uint64_t from, std::size_t count) {
    std::memcpy(structs.data() + to, bytes.data() + from, count);
  });
} catch (...) {
  rethrow_as_error();
}

void check_same_layout(const Layout& to, std::size_t to_size, const Layout& from, std::size_t from_size) try {
  if (to == from && to_size == from_size) return;
  throw Error(
      ErrorCode::invalid,
      fmt::format("a copy to {} structs as {} from {} structs as {}; sizes and layouts must match, or "
                  "copy by a kernel with to[i] = from[i]",
                  to_size, to_string(to), from_size, to_string(from)));
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail
}  // namespace weir
