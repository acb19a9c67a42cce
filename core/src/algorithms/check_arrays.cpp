// SPDX-License-Identifier: Apache-2.0
#include "algorithms/check_arrays.hpp"

#include <fmt/format.h>

#include "runtime/memory/array_use.hpp"

namespace weir::algorithms {

void expect_usable(std::string_view function, const WorkTarget& target, std::initializer_list<Named> arrays) {
  const Device device = target.device();
  const auto expect_there = [&](const Named& array) {
    if (!array.view.alive())
      throw Error(
          ErrorCode::invalid,
          fmt::format("{}: the array '{}' does not exist: it was freed, moved from, or never created; keep "
                      "its Array alive until the call returns",
                      function, array.name));
    if (!array.view.contiguous()) detail::throw_strided(fmt::format("{}: '{}'", function, array.name));
    const detail::DeviceState* const its = array.view.device().state();
    if (its != device.state())
      detail::throw_other_device(fmt::format("{}: '{}' is on device", function, array.name), *its,
                                 target.graph() ? "but the graph is for" : "but the stream is of",
                                 *device.state(), detail::copy_array_there);
  };
  for (const Named& array : arrays) expect_there(array);
  if (!target.size()) return;
  const Named size{"size", *target.size()};
  expect_there(size);
  expect_one_element(function, size);
  for (const Named& array : arrays) expect_apart(function, array, size);
}

void expect_equal_size(std::string_view function, const Named& array, const Named& as) {
  if (array.view.size() == as.view.size()) return;
  throw Error(
      ErrorCode::invalid,
      fmt::format(
          "{}: '{}' needs {} elements, as many as '{}', but has {}; allocate as many, or pass a slice",
          function, array.name, as.view.size(), as.name, array.view.size()));
}

void expect_one_element(std::string_view function, const Named& array) {
  if (array.view.size() == 1) return;
  throw Error(
      ErrorCode::invalid,
      fmt::format("{}: '{}' holds a number and needs 1 element, but has {}; allocate one, or pass a slice",
                  function, array.name, array.view.size()));
}

void expect_combinable(std::string_view function, const Named& array, Combine combine) {
  if (combine > Combine::bit_xor)
    throw Error(ErrorCode::invalid, fmt::format("{}: {} is not a value of Combine; pass one of its names",
                                                function, static_cast<int>(combine)));
  const ScalarType type = array.view.element().scalar;
  if (combine <= Combine::max || !is_float(type)) return;
  throw Error(
      ErrorCode::invalid,
      fmt::format("{}: bits of integers can be combined, but '{}' has elements of {}; combine by sum, "
                  "min or max, or convert it",
                  function, array.name, to_string(type)));
}

void expect_apart(std::string_view function, const Named& result, const Named& other) {
  if (!detail::overlap(result.view, other.view)) return;
  throw Error(
      ErrorCode::invalid,
      fmt::format("{}: '{}' is expected to share no memory with '{}', but does; write to another array",
                  function, result.name, other.name));
}

}  // namespace weir::algorithms
