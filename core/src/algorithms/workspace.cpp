// SPDX-License-Identifier: Apache-2.0
#include "algorithms/workspace.hpp"

namespace weir::algorithms {

namespace {

/// Gives access to the protected parts of a view.
struct Scalars : AnyArrayView {
  Scalars(const AnyArrayView& view, ScalarType type) : AnyArrayView(view) {
    size_ *= element_.components();
    extents_ = {static_cast<std::int64_t>(size_), 0, 0, 0};
    rank_ = 1;
    element_ = {type};
  }
};

struct OneDimension : AnyArrayView {
  explicit OneDimension(const AnyArrayView& view) : AnyArrayView(view) {
    extents_ = {static_cast<std::int64_t>(size_), 0, 0, 0};
    rank_ = 1;
  }
};

struct NoElements : AnyArrayView {
  explicit NoElements(const AnyArrayView& view) : AnyArrayView(view) {
    offset_ = size_ = 0;
    extents_ = {};
    rank_ = 1;
    element_ = weir::element_type<std::int64_t>;
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
  const std::size_t size = size_of(view.element().scalar);
  return Scalars(view, size == 1   ? ScalarType::u8
                       : size == 2 ? ScalarType::u16
                       : size == 4 ? ScalarType::u32
                                   : ScalarType::u64);
}

AnyArrayView as_scalars(const AnyArrayView& view) {
  return Scalars(view, view.element().scalar);
}

AnyArrayView as_one_dimension(const AnyArrayView& view) {
  return OneDimension(view);
}

AnyArrayView no_elements(const AnyArrayView& view) {
  return NoElements(view);
}

Workspace::Workspace(const Steps& steps, std::initializer_list<Part> parts) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;
  for (const Part& part : parts) {
    offsets.push_back(bytes);
    const std::uint64_t size = static_cast<std::uint64_t>(part.count) * part.element.size();
    bytes += (size + part_alignment - 1) / part_alignment * part_alignment;
  }
  const AnyArrayView memory = steps.scratch(element_type<std::uint8_t>, static_cast<std::int64_t>(bytes));
  for (const Part& part : parts) parts_.push_back(PartOf(memory, offsets[parts_.size()], part));
}

}  // namespace weir::algorithms
