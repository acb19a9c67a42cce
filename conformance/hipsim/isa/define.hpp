// SPDX-License-Identifier: Apache-2.0
// Builds operations from lambdas on lanes.
#pragma once
#include "isa/lanes.hpp"
#include "isa/semantics.hpp"

namespace weir::hipsim::HIPSIM_SIMD {

/// An integer or bitwise operation.
template <class D, class... S, class F>
Operation plain(F f) {
  return Operation{valu<D, S...>(f), int(sizeof...(S)), FloatGroup::none, sizeof(D) == 2};
}
/// An operation whose arithmetic obeys the mode bits of single precision.
template <class D, class... S, class F>
Operation single(F f) {
  return Operation{valu<D, S...>(f), int(sizeof...(S)), FloatGroup::single, sizeof(D) == 2};
}
/// An operation whose arithmetic obeys the mode bits of half and double precision.
template <class D, class... S, class F>
Operation wide(F f) {
  return Operation{valu<D, S...>(f), int(sizeof...(S)), FloatGroup::half_and_double, sizeof(D) == 2};
}

}  // namespace weir::hipsim::HIPSIM_SIMD
