// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weir/weir.hpp>

using OneArray = weir::Kernel<void(weir::View<float>)>;
using TwoArrays = weir::Kernel<void(weir::View<float>, weir::View<float>)>;

extern const OneArray add_one;

/// Kernels that are made at the first call.
const OneArray& made_later();
const TwoArrays& both();

namespace packed {
void make_kernels();
}
