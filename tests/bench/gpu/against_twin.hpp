// SPDX-License-Identifier: Apache-2.0
// Shared code of the cases that compare a whole kernel with its twin in a twin*.cu.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <weir/kernel.hpp>

#include "device.hpp"
#include "figures.hpp"
#include "twin.hpp"

namespace weir::bench::gpu {

inline constexpr std::int64_t gibibyte_of_floats = std::int64_t{1} << 28;

/// Seconds per run of `submit`, over `repeats` runs in a row.
template <class Submit, class Wait>
double per_run(int repeats, Submit&& submit, Wait&& wait) {
  const double begin = now();
  for (int i = 0; i < repeats; ++i) submit();
  wait();
  return (now() - begin) / repeats;
}

/// The two sides of a case: `ours(stream)` and `theirs(variant, stream)` submit one run each. The peer is the
/// fastest variant.
template <class Ours, class Theirs>
Sides sides(int repeats, Ours ours, Theirs theirs, std::function<void()> compare) {
  auto stream = std::make_shared<Stream>(device().create_stream());
  const CUstream by_hand = make_stream();
  device().synchronize();
  const auto peer = [=](int variant) {
    return per_run(
        repeats,
        [&] {
          if (const int result = theirs(variant, by_hand); result != 0)
            throw std::runtime_error("variant " + std::to_string(variant) + " of the twin: error " +
                                     std::to_string(result));
        },
        [&] { check(cuda().StreamSynchronize(by_hand), "cuStreamSynchronize"); });
  };
  (void)twin();
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int variant = 0; theirs(variant, by_hand) != -1; ++variant) {
    check(cuda().StreamSynchronize(by_hand), "cuStreamSynchronize");
    if (const double seconds = std::min(peer(variant), peer(variant)); seconds < least)
      least = seconds, best = variant;
  }
  return {.ours =
              [=] {
                return per_run(
                    repeats, [&] { ours(*stream); }, [&] { stream->synchronize(); });
              },
          .peer = [=] { return peer(best); },
          .check = std::move(compare)};
}

inline void expect_close(double ours, double theirs, double tolerance, const char* what) {
  if (!(std::abs(ours - theirs) <= tolerance * std::max(1.0, std::abs(theirs))))
    throw std::runtime_error(std::string(what) + ": ours is " + std::to_string(ours) + ", the twin's " +
                             std::to_string(theirs));
}

template <class T>
T at(const ArrayView<T>& array, std::int64_t i) {
  return array.slice(i, i + 1).to_host(device().default_stream())[0];
}

/// Compares a sample of elements of two arrays that should be equal.
template <class T>
void expect_equal(const ArrayView<T>& ours, const ArrayView<T>& theirs, double tolerance, const char* what) {
  device().synchronize();
  const auto n = static_cast<std::int64_t>(ours.size());
  for (std::int64_t i = 0; i < 64; ++i) {
    const std::int64_t place = i * 2654435761 % n;
    expect_close(static_cast<double>(at(ours, place)), static_cast<double>(at(theirs, place)), tolerance,
                 what);
  }
}

inline void fill_random(const ArrayView<float>& array) {
  static const Kernel kernel{
      "random", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = random<float>(); }); }};
  kernel(device().default_stream(), array);
  device().synchronize();
}

}  // namespace weir::bench::gpu
