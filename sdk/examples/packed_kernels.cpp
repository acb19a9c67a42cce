// SPDX-License-Identifier: Apache-2.0
#include "packed_kernels.hpp"

using namespace weir;

const Kernel<void(View<float>, Value<float>)> decay{"decay", [](View<float> x, Value<float> rate) {
                                                      range_for(x.size(),
                                                                [&](Index i) { x[i] = x[i] * exp(-rate); });
                                                    }};
