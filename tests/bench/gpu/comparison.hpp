// SPDX-License-Identifier: Apache-2.0
// Times runs of kernels, and compares the results of both sides.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <weir/array.hpp>

#include "figures.hpp"

namespace weir::bench::gpu {

/// Seconds per run of `submit`, over `repeats` runs in a row.
template <class Submit, class Wait>
double per_run(int repeats, Submit&& submit, Wait&& wait) {
  const double begin = now();
  for (int i = 0; i < repeats; ++i) submit();
  wait();
  return (now() - begin) / repeats;
}

inline void expect_close(double ours, double theirs, double tolerance, const char* what) {
  if (!(std::abs(ours - theirs) <= tolerance * std::max(1.0, std::abs(theirs))))
    throw std::runtime_error(std::string(what) + ": ours is " + std::to_string(ours) + ", the peer's " +
                             std::to_string(theirs));
}

template <class T>
T at(const ArrayView<T>& array, std::int64_t i) {
  return array.slice(i, i + 1).to_host(array.device().default_stream())[0];
}

/// Compares a sample of elements of two arrays that should be equal.
template <class T>
void expect_equal(const ArrayView<T>& ours, const ArrayView<T>& theirs, double tolerance, const char* what) {
  ours.device().synchronize();
  theirs.device().synchronize();
  const auto n = static_cast<std::int64_t>(ours.size());
  for (std::int64_t i = 0; i < 64; ++i) {
    const std::int64_t place = i * 2654435761 % n;
    expect_close(static_cast<double>(at(ours, place)), static_cast<double>(at(theirs, place)), tolerance,
                 what);
  }
}

}  // namespace weir::bench::gpu
