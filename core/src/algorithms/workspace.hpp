// SPDX-License-Identifier: Apache-2.0
// Scratch memory of algorithms, and views of arrays as words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>
#include <weir/array.hpp>

namespace weir::algorithms {

/// The same memory as scalars of one dimension, of the unsigned type as wide as those of the array.
AnyArrayView as_words(const AnyArrayView& view);
/// An array of `count` elements that lives until the work submitted so far is done.
AnyArray scratch(const StreamRef& stream, ElementType element, std::int64_t count);

/// Several arrays of scratch memory in one allocation, so that an algorithm has all its memory before it
/// submits anything, or throws.
class Workspace {
 public:
  struct Part {
    ElementType element;
    std::int64_t count;
  };
  Workspace(const StreamRef& stream, std::initializer_list<Part> parts);
  AnyArrayView operator[](std::size_t part) const { return parts_.at(part); }

 private:
  AnyArray memory_;
  std::vector<AnyArrayView> parts_;
};

}  // namespace weir::algorithms
