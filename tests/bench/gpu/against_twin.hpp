// SPDX-License-Identifier: Apache-2.0
// Shared code of the cases that compare a whole kernel with its twin in a twin*.cu.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <weir/kernel.hpp>

#include "comparison.hpp"
#include "device.hpp"
#include "figures.hpp"
#include "twin.hpp"

namespace weir::bench::gpu {

inline constexpr std::int64_t gibibyte_of_floats = std::int64_t{1} << 28;

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

inline void fill_random(const ArrayView<float>& array) {
  static const Kernel kernel{
      "random", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = random<float>(); }); }};
  kernel(device().default_stream(), array);
  device().synchronize();
}

}  // namespace weir::bench::gpu
