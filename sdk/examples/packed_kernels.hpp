// SPDX-License-Identifier: Apache-2.0
// The kernels of packed.cpp, in a file of their own so that the build can compile them ahead of time.
#pragma once

#include <weir/weir.hpp>

extern const weir::Kernel<void(weir::View<float>, weir::Value<float>)> decay;
