// SPDX-License-Identifier: Apache-2.0
// Checks of the arrays of algorithms.
#pragma once

#include <initializer_list>
#include <string_view>
#include <weir/algorithms.hpp>

namespace weir::algorithms {

/// An array and its name in messages.
struct Named {
  std::string_view name;
  const AnyArrayView& view;
};

/// Throws Error{invalid} unless every array is alive and on the device of `target`. The size of `target` must
/// be too, have one element, and share no memory with the arrays.
void expect_usable(std::string_view function, const WorkTarget& target, std::initializer_list<Named> arrays);
/// Throws Error{invalid} unless both have the same number of elements.
void expect_equal_size(std::string_view function, const Named& array, const Named& as);
/// Throws Error{invalid} unless the array has one element.
void expect_one_element(std::string_view function, const Named& array);
/// Throws Error{invalid} if bits of floats were to be combined.
void expect_combinable(std::string_view function, const Named& array, Combine combine);
/// Throws Error{invalid} if the two share memory.
void expect_apart(std::string_view function, const Named& result, const Named& other);

}  // namespace weir::algorithms
