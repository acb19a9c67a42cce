// SPDX-License-Identifier: Apache-2.0
#include "packed_kernels.hpp"

using namespace weir;

const OneArray add_one{"add_one",
                       [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1.0f; }); }};

const OneArray& made_later() {
  static const OneArray kernel{"made_later", [](View<float> x) {
                                 range_for(x.size(), [&](Index i) { x[i] = x[i] * x[i]; });
                                 range_for(x.size(), [&](Index i) { x[i] = x[i] + x[i]; });
                               }};
  return kernel;
}

const TwoArrays& both() {
  static const TwoArrays kernel{"both", [](View<float> x, View<float> y) {
                                  range_for(x.size(), [&](Index i) { y[i] = x[i] + 1.0f; });
                                  range_for(x.size(), [&](Index i) { x[i] = y[i] * 3.0f; });
                                }};
  return kernel;
}

void packed::make_kernels() {
  made_later();
  both();
}
