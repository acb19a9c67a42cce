// SPDX-License-Identifier: Apache-2.0
#include "algorithms/workspace.hpp"

namespace weir::algorithms {

namespace {

/// Gives access to the protected parts of a view.
struct Words : AnyArrayView {
  explicit Words(const AnyArrayView& view) : AnyArrayView(view) {
    static constexpr ScalarType by_size[] = {ScalarType::u8, ScalarType::u16, ScalarType::u32,
                                             ScalarType::u64};
    const std::size_t size = size_of(element_.scalar);
    size_ *= element_.components();
    extents_ = {static_cast<std::int64_t>(size_), 0, 0, 0};
    rank_ = 1;
    element_ = {by_size[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3]};
  }
};

/// A part of an array of bytes.
struct PartOf : AnyArrayView {
  PartOf(const AnyArrayView& bytes, std::uint64_t offset, const Workspace::Part& part) : AnyArrayView(bytes) {
    offset_ += offset;
    element_ = part.element;
    size_ = static_cast<std::uint64_t>(part.count);
    extents_ = {part.count, 0, 0, 0};
  }
};

constexpr std::uint64_t part_alignment = 256;

}  // namespace

AnyArrayView as_words(const AnyArrayView& view) {
  return Words(view);
}

AnyArray scratch(const StreamRef& stream, ElementType element, std::int64_t count) {
  const std::int64_t extents[] = {count};
  return AnyArray(stream, element, extents);
}

Workspace::Workspace(const StreamRef& stream, std::initializer_list<Part> parts) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;
  for (const Part& part : parts) {
    offsets.push_back(bytes);
    const std::uint64_t size = static_cast<std::uint64_t>(part.count) * part.element.size();
    bytes += (size + part_alignment - 1) / part_alignment * part_alignment;
  }
  memory_ = scratch(stream, element_type<std::uint8_t>, static_cast<std::int64_t>(bytes));
  for (const Part& part : parts) parts_.push_back(PartOf(memory_, offsets[parts_.size()], part));
}

}  // namespace weir::algorithms
