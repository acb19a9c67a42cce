// SPDX-License-Identifier: Apache-2.0
// Checks of the arrays that algorithms work on, and views of their bytes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>
#include <weir/array.hpp>

namespace weir::algorithms {

/// An array and its name in messages.
struct Named {
  std::string_view name;
  const AnyArrayView& view;
};

/// Throws Error{invalid} unless every array is alive and on the device of `stream`.
void expect_usable(std::string_view function, const StreamRef& stream, std::initializer_list<Named> arrays);
/// Throws Error{invalid} unless both have the same number of elements.
void expect_equal_size(std::string_view function, const Named& array, const Named& as);
/// Throws Error{invalid} unless the array has one element.
void expect_one_element(std::string_view function, const Named& array);
/// Throws Error{invalid} if the two share memory.
void expect_apart(std::string_view function, const Named& result, const Named& other);

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

/// Consecutive elements that one iteration works through.
struct Chunks {
  std::int64_t size;
  std::int64_t count;
};
/// Chunks whose size depends on the number of elements only, so that the order of combination does too: those
/// of reductions (ir/task.hpp).
Chunks fixed_chunks(std::uint64_t elements);
/// At most as many chunks as keep the device busy, and at most `limit`.
Chunks device_chunks(const Device& device, std::uint64_t elements, std::uint64_t limit);

}  // namespace weir::algorithms
