// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>
#include <weir/weir.hpp>

#include "tested_device.hpp"
#include "thrown_by.hpp"

namespace weir::test {

/// The device under test, open until the program ends.
inline Device tested() {
  static const Device device = open(tested_device());
  return device;
}

template <class T = std::int32_t>
std::vector<T> counting(std::size_t n) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<T>(i);
  return values;
}

struct Strided : testing::Test {
  Stream stream = tested().create_stream();

  /// Rows of consecutive numbers from 0 on.
  Array<std::int32_t, 2> matrix(std::int64_t rows, std::int64_t columns) const {
    auto x = tested().array<std::int32_t>(stream, rows, columns);
    x.copy_from(stream, counting(static_cast<std::size_t>(rows * columns)));
    return x;
  }
};

}  // namespace weir::test
