// SPDX-License-Identifier: Apache-2.0
// Scratch memory of algorithms, and views of arrays as words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "algorithms/steps.hpp"

namespace weir::algorithms {

/// The same memory as scalars of one dimension, of the unsigned type as wide as those of the array.
AnyArrayView as_words(const AnyArrayView& view);

/// The same memory as scalars of one dimension.
AnyArrayView as_scalars(const AnyArrayView& view);

/// The same elements in one dimension.
AnyArrayView as_one_dimension(const AnyArrayView& view);

/// An empty view of std::int64_t in the memory of `view`.
AnyArrayView no_elements(const AnyArrayView& view);

/// Several arrays of scratch memory in one allocation, so that an algorithm has all its memory before it
/// submits anything, or throws.
class Workspace {
 public:
  struct Part {
    ElementType element;
    std::int64_t count;
  };
  Workspace(const Steps& steps, std::initializer_list<Part> parts);
  AnyArrayView operator[](std::size_t part) const { return parts_.at(part); }

 private:
  std::vector<AnyArrayView> parts_;
};

}  // namespace weir::algorithms
