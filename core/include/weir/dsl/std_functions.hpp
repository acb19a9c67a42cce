// SPDX-License-Identifier: Apache-2.0
// Explains why functions of namespace std take no traced values. The calls would end in the compiler's list
// of candidates otherwise, or, with g++ and std::printf, print an address. The standard keeps namespace std
// for itself ([namespace.std]); these overloads give no program a meaning, because each call of one is an
// error.
#pragma once

#include <weir/dsl/math.hpp>

#define WEIR_REFUSED(name, remedy)                                                                        \
  template <class... A>                                                                                   \
  requires(weir::detail::Traced<A> || ...) auto name(A&&...) {                                            \
    static_assert(weir::detail::always_false<A...>, "std::" #name " takes numbers of the host: " remedy); \
    return weir::detail::refused<weir::Value<weir::detail::common_t<A...>>>();                            \
  }
#define WEIR_OF_KERNELS(name) WEIR_REFUSED(name, "write " #name "(...) without std:: for traced values")
#define WEIR_OF_HOST(name) \
  WEIR_REFUSED(name, "a traced value has none while the kernel is built: store it, print its to_host()")

namespace std {  // NOLINT(cert-dcl58-cpp)

// clang-format off
WEIR_OF_KERNELS(abs) WEIR_OF_KERNELS(acos) WEIR_OF_KERNELS(acosh) WEIR_OF_KERNELS(asin) WEIR_OF_KERNELS(asinh)
WEIR_OF_KERNELS(atan) WEIR_OF_KERNELS(atan2) WEIR_OF_KERNELS(atanh) WEIR_OF_KERNELS(cbrt) WEIR_OF_KERNELS(ceil)
WEIR_OF_KERNELS(clamp) WEIR_OF_KERNELS(copysign) WEIR_OF_KERNELS(cos) WEIR_OF_KERNELS(cosh)
WEIR_OF_KERNELS(erf) WEIR_OF_KERNELS(erfc) WEIR_OF_KERNELS(exp) WEIR_OF_KERNELS(exp2) WEIR_OF_KERNELS(expm1)
WEIR_OF_KERNELS(fabs) WEIR_OF_KERNELS(fdim) WEIR_OF_KERNELS(floor) WEIR_OF_KERNELS(fma) WEIR_OF_KERNELS(fmax)
WEIR_OF_KERNELS(fmin) WEIR_OF_KERNELS(fmod) WEIR_OF_KERNELS(hypot) WEIR_OF_KERNELS(ilogb)
WEIR_OF_KERNELS(isfinite) WEIR_OF_KERNELS(isinf) WEIR_OF_KERNELS(isnan) WEIR_OF_KERNELS(ldexp)
WEIR_OF_KERNELS(lgamma) WEIR_OF_KERNELS(log) WEIR_OF_KERNELS(log10) WEIR_OF_KERNELS(log1p) WEIR_OF_KERNELS(log2)
WEIR_OF_KERNELS(logb) WEIR_OF_KERNELS(max) WEIR_OF_KERNELS(min) WEIR_OF_KERNELS(nextafter) WEIR_OF_KERNELS(popcount)
WEIR_OF_KERNELS(pow) WEIR_OF_KERNELS(remainder) WEIR_OF_KERNELS(rint) WEIR_OF_KERNELS(round) WEIR_OF_KERNELS(sin)
WEIR_OF_KERNELS(sinh) WEIR_OF_KERNELS(sqrt) WEIR_OF_KERNELS(tan) WEIR_OF_KERNELS(tanh) WEIR_OF_KERNELS(tgamma)
WEIR_OF_KERNELS(trunc)
WEIR_OF_HOST(printf) WEIR_OF_HOST(fprintf) WEIR_OF_HOST(sprintf) WEIR_OF_HOST(snprintf)
// clang-format on

}  // namespace std

#undef WEIR_REFUSED
#undef WEIR_OF_KERNELS
#undef WEIR_OF_HOST
