// SPDX-License-Identifier: Apache-2.0
// Runs kernels of the kernel language on the device under test and copies results to the host.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

#include "tested_device.hpp"
#include "thrown_by.hpp"

namespace weir::test {

/// The device under test, open until the program ends.
inline Device tested() {
  static const Device device = open(tested_device());
  return device;
}

template <class T>
Array<T> upload(const std::vector<T>& values) {
  return tested().array_of(std::span<const T>(values));
}

/// 0, 1, 2, ... times `scale`.
template <class T>
std::vector<T> ramp(std::size_t count, T scale = 1) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(static_cast<T>(i) * scale);
  return values;
}

/// The contents of an array of `count` zeros after `kernel(array, arguments...)`.
template <class T, class K, class... A>
std::vector<T> run(const K& kernel, std::size_t count, const A&... arguments) {
  Array<T> result = tested().array<T>(count);
  result.fill(T{});
  kernel(result, arguments...);
  return result.to_host();
}

template <class F>
std::string error_of(F&& action) {
  return thrown_by(action).what();
}

}  // namespace weir::test
