// SPDX-License-Identifier: Apache-2.0
// Values for tests of algorithms, and their comparison by bits.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
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

/// The largest size in tests: 70,001, or WEIR_ALGORITHMS_MOST on slow devices.
inline std::size_t max_elements() {
  const char* most = std::getenv("WEIR_ALGORITHMS_MOST");
  return most ? std::strtoull(most, nullptr, 10) : 70001;
}

/// Sizes around those of strips (256), chunks (1,024) and of two levels of chunks.
inline std::vector<std::size_t> sizes() {
  std::vector<std::size_t> result;
  for (const std::size_t n : {0, 1, 2, 255, 256, 257, 1023, 1024, 1025, 2048, 2500, 70001})
    if (n <= max_elements()) result.push_back(n);
  return result;
}

/// Random bits of any kind; of floats also infinities, NaNs, zeros of both signs.
template <class T>
std::vector<T> random_values(std::size_t count, std::uint32_t seed = 1) {
  std::mt19937_64 bits(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    const std::uint64_t word = bits();
    if constexpr (std::floating_point<T>) {
      using Limits = std::numeric_limits<T>;
      const T special[] = {T(0),
                           T(-0.0),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           -Limits::quiet_NaN(),
                           Limits::denorm_min(),
                           Limits::max()};
      value = word % 5 == 0 ? special[(word >> 8) % 8] : T(std::int64_t(word)) * T(1e-12);
    } else {
      std::memcpy(&value, &word, sizeof value);
    }
  }
  return values;
}

/// Small whole numbers, whose sums are exact in every type.
template <class T>
std::vector<T> small_values(std::size_t count, std::uint32_t seed = 1) {
  std::mt19937 bits(seed);
  std::vector<T> values(count);
  for (T& value : values) value = T(bits() % 4);
  return values;
}

template <class T>
Array<T> upload(const StreamRef& stream, const std::vector<T>& values) {
  Array<T> result = tested().array<T>(stream, values.size());
  result.copy_from(stream, std::span<const T>(values));
  return result;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
class OfNumbers : public testing::Test {};
using Numbers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                               std::uint16_t, std::uint32_t, std::uint64_t, float, double>;

}  // namespace weir::test
