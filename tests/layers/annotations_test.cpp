// SPDX-License-Identifier: Apache-2.0
// What libweir tells a layer that supports only the first version of annotations.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/api.hpp"

namespace weir::test {
namespace {

const bool layered = setenv("WEIR_LAYER_PATH", WEIR_LAYERS_OF_TESTS, 1) == 0 && use_layers("sizes");

TEST(Annotations, OfVersion1StateTheSizesOfWholeArrays) {
  const Device device = open("cpu");
  const Layer sizes = layers(device).at(0);
  const Kernel middle{"middle", [](View<const float> from, View<float> to) {
                        range_for(range(2, to.size() - 2),
                                  [&](Index i) { to[i] = from[i - 1] + from[i + 1]; });
                      }};
  const Stream stream = device.create_stream();
  auto x = device.array<float>(stream, 100), y = device.array<float>(stream, 100);
  x.fill(stream, 1.0f);
  middle(stream, x, y);
  EXPECT_EQ(y.to_host(stream)[50], 2.0f);
  EXPECT_EQ(sizes.get("ranges"), 0u);
  EXPECT_EQ(sizes.get("bytes"), 2 * 100 * sizeof(float));
}

}  // namespace
}  // namespace weir::test
