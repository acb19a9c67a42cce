// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "reference.hpp"

namespace weir::test {
namespace {

template <class Wide>
constexpr Wide pi = Wide(3.14159265358979323846264338327950288L);
template <class Wide>
constexpr Wide nan = std::numeric_limits<Wide>::quiet_NaN();
template <class Wide>
constexpr Wide infinity = std::numeric_limits<Wide>::infinity();

/// x modulo 2 in [-1, 1], exact; several times as fast as std::remainder.
template <class Wide>
Wide turn(Wide x) {
  return x - 2 * std::rint(x / 2);
}
template <class Wide>
bool whole(Wide x) {
  return std::rint(x) == x;
}
template <class Wide>
bool odd(Wide x) {
  return whole(x) && turn(x) != 0;
}

template <class Wide>
Wide sinpi(Wide x) {
  if (!std::isfinite(x)) return nan<Wide>;
  if (whole(x)) return std::copysign(Wide(0), x);
  Wide r = turn(x);
  if (std::fabs(r) > Wide(0.5)) r = std::copysign(Wide(1), r) - r;
  return std::sin(pi<Wide> * r);
}

template <class Wide>
Wide cospi(Wide x) {
  if (!std::isfinite(x)) return nan<Wide>;
  const Wide r = std::fabs(turn(x));
  if (r == Wide(0.5)) return 0;
  return r < Wide(0.25) ? std::cos(pi<Wide> * r) : std::sin(pi<Wide> * (Wide(0.5) - r));
}

template <class Wide>
Wide tanpi(Wide x) {
  if (!std::isfinite(x)) return nan<Wide>;
  if (whole(x)) return std::copysign(Wide(0), odd(x) ? -x : x);
  if (whole(x - Wide(0.5)) && std::fabs(x) < 0x1p60)
    return std::copysign(infinity<Wide>, odd(std::floor(x)) ? Wide(-1) : Wide(1));
  return sinpi(x) / cospi(x);
}

template <class Wide>
Wide rootn(Wide x, Wide n) {
  if (n == 0 || (x < 0 && !odd(n))) return nan<Wide>;
  if (x == 0) {
    const Wide sign = odd(n) ? std::copysign(Wide(1), x) : Wide(1);
    return std::copysign(n < 0 ? infinity<Wide> : Wide(0), sign);
  }
  return std::copysign(std::pow(std::fabs(x), 1 / n), x);
}

template <class Wide>
Wide powr(Wide x, Wide y) {
  if (std::isnan(x) || std::isnan(y) || x < 0) return nan<Wide>;
  if ((x == 0 || std::isinf(x)) && y == 0) return nan<Wide>;
  if (x == 1 && std::isinf(y)) return nan<Wide>;
  return std::pow(std::fabs(x), y);
}

template <class Wide>
Wide by_size(Wide x, Wide y, bool greater) {
  const Wide a = std::fabs(x), b = std::fabs(y);
  if (greater ? a > b : a < b) return x;
  if (greater ? b > a : b < a) return y;
  return greater ? std::fmax(x, y) : std::fmin(x, y);
}

template <class Wide>
const std::map<std::string_view, Quick<Wide>>& functions() {
  using O = const Operands&;
#define WEIR_UNARY(name)                                    \
  {                                                         \
    #name, [](O o) -> Wide { return std::name(Wide(o.x)); } \
  }
  // Functions that OpenCL requires to be exact are equal in every precision that holds the operands and the
  // result; x87 has instructions for the remainders. Functions that round to the result's type must be
  // computed in that type.
  static const std::map<std::string_view, Quick<Wide>> table = {
      WEIR_UNARY(acos),
      WEIR_UNARY(acosh),
      WEIR_UNARY(asin),
      WEIR_UNARY(asinh),
      WEIR_UNARY(atan),
      WEIR_UNARY(atanh),
      WEIR_UNARY(cbrt),
      WEIR_UNARY(ceil),
      WEIR_UNARY(cos),
      WEIR_UNARY(cosh),
      WEIR_UNARY(erf),
      WEIR_UNARY(erfc),
      WEIR_UNARY(exp),
      WEIR_UNARY(exp2),
      WEIR_UNARY(expm1),
      WEIR_UNARY(floor),
      WEIR_UNARY(lgamma),
      WEIR_UNARY(log),
      WEIR_UNARY(log2),
      WEIR_UNARY(log10),
      WEIR_UNARY(log1p),
      WEIR_UNARY(logb),
      WEIR_UNARY(rint),
      WEIR_UNARY(round),
      WEIR_UNARY(sin),
      WEIR_UNARY(sinh),
      WEIR_UNARY(tan),
      WEIR_UNARY(tanh),
      WEIR_UNARY(tgamma),
      WEIR_UNARY(trunc),
      WEIR_UNARY(sqrt),
      {"acospi", [](O o) -> Wide { return std::acos(Wide(o.x)) / pi<Wide>; }},
      {"asinpi", [](O o) -> Wide { return std::asin(Wide(o.x)) / pi<Wide>; }},
      {"atanpi", [](O o) -> Wide { return std::atan(Wide(o.x)) / pi<Wide>; }},
      {"exp10",
       [](O o) -> Wide { return std::is_same_v<Wide, double> ? ::exp10(Wide(o.x)) : ::exp10l(o.x); }},
      {"sinpi", [](O o) -> Wide { return sinpi(Wide(o.x)); }},
      {"cospi", [](O o) -> Wide { return cospi(Wide(o.x)); }},
      {"tanpi", [](O o) -> Wide { return tanpi(Wide(o.x)); }},
      {"rsqrt", [](O o) -> Wide { return 1 / std::sqrt(Wide(o.x)); }},
      {"ilogb",
       [](O o) -> Wide {
         if (o.x == 0 || std::isnan(o.x)) return std::numeric_limits<std::int32_t>::min();
         return std::isinf(o.x) ? Wide(std::numeric_limits<std::int32_t>::max()) : std::logb(Wide(o.x));
       }},
      {"atan2", [](O o) -> Wide { return std::atan2(Wide(o.x), Wide(o.y)); }},
      {"atan2pi", [](O o) -> Wide { return std::atan2(Wide(o.x), Wide(o.y)) / pi<Wide>; }},
      {"copysign", [](O o) -> Wide { return std::copysign(Wide(o.x), Wide(o.y)); }},
      {"fdim",
       [](O o) -> Wide {
         return o.single ? Wide(std::fdim(float(o.x), float(o.y)))
                         : Wide(std::fdim(double(o.x), double(o.y)));
       }},
      {"fmod", [](O o) -> Wide { return Wide(std::fmod(o.x, o.y)); }},
      {"hypot", [](O o) -> Wide { return std::hypot(Wide(o.x), Wide(o.y)); }},
      {"ldexp", [](O o) -> Wide { return std::ldexp(Wide(o.x), int(o.y)); }},
      {"maxmag", [](O o) -> Wide { return by_size(Wide(o.x), Wide(o.y), true); }},
      {"minmag", [](O o) -> Wide { return by_size(Wide(o.x), Wide(o.y), false); }},
      {"nextafter",
       [](O o) -> Wide {
         return o.single ? Wide(std::nextafter(float(o.x), float(o.y)))
                         : Wide(std::nextafter(double(o.x), double(o.y)));
       }},
      {"pow", [](O o) -> Wide { return std::pow(Wide(o.x), Wide(o.y)); }},
      {"pown", [](O o) -> Wide { return std::pow(Wide(o.x), Wide(o.y)); }},
      {"powr", [](O o) -> Wide { return powr(Wide(o.x), Wide(o.y)); }},
      {"remainder", [](O o) -> Wide { return Wide(std::remainder(o.x, o.y)); }},
      {"rootn", [](O o) -> Wide { return rootn(Wide(o.x), Wide(o.y)); }},
      {"fma",
       [](O o) -> Wide {
         return o.single ? Wide(std::fma(float(o.x), float(o.y), float(o.z)))
                         : Wide(std::fma(double(o.x), double(o.y), double(o.z)));
       }},
  };
#undef WEIR_UNARY
  return table;
}

}  // namespace

const std::vector<MathCase>& math_cases() {
  static const std::vector<MathCase> cases = {
      {"acos", 1, false, false, 4, -1, 1},          {"acosh", 1, false, false, 4, 1, 100},
      {"acospi", 1, false, false, 5, -1, 1},        {"asin", 1, false, false, 4, -1, 1},
      {"asinh", 1, false, false, 4, -100, 100},     {"asinpi", 1, false, false, 5, -1, 1},
      {"atan", 1, false, false, 5, -10, 10},        {"atan2", 2, false, false, 6, -10, 10},
      {"atan2pi", 2, false, false, 6, -10, 10},     {"atanh", 1, false, false, 5, -1, 1},
      {"atanpi", 1, false, false, 5, -10, 10},      {"cbrt", 1, false, false, 2, -100, 100},
      {"ceil", 1, false, false, 0, -1000, 1000},    {"copysign", 2, false, false, 0, -10, 10},
      {"cos", 1, false, false, 4, -70000, 70000},   {"cosh", 1, false, false, 4, -720, 720},
      {"cospi", 1, false, false, 4, -10, 10},       {"erf", 1, false, false, 16, -6, 6},
      {"erfc", 1, false, false, 16, -6, 28},        {"exp", 1, false, false, 3, -110, 95},
      {"exp2", 1, false, false, 3, -155, 130},      {"exp10", 1, false, false, 3, -46, 39},
      {"expm1", 1, false, false, 3, -40, 95},       {"fdim", 2, false, false, 0, -10, 10},
      {"floor", 1, false, false, 0, -1000, 1000},   {"fma", 3, false, false, 0, -10, 10},
      {"fmod", 2, false, false, 0, -1000, 1000},    {"hypot", 2, false, false, 4, -100, 100},
      {"ilogb", 1, false, true, 0, -100, 100},      {"ldexp", 2, true, false, 0, -300, 300},
      {"lgamma", 1, false, false, 0, -20, 40},      {"log", 1, false, false, 3, 0, 3},
      {"log2", 1, false, false, 3, 0, 3},           {"log10", 1, false, false, 3, 0, 3},
      {"log1p", 1, false, false, 2, -1, 3},         {"logb", 1, false, false, 0, -100, 100},
      {"maxmag", 2, false, false, 0, -10, 10},      {"minmag", 2, false, false, 0, -10, 10},
      {"nextafter", 2, false, false, 0, -10, 10},   {"pow", 2, false, false, 16, -60, 60},
      {"pown", 2, true, false, 16, -60, 60},        {"powr", 2, false, false, 16, 0, 60},
      {"remainder", 2, false, false, 0, -1e3, 1e3}, {"rint", 1, false, false, 0, -1000, 1000},
      {"rootn", 2, true, false, 16, -60, 60},       {"round", 1, false, false, 0, -1000, 1000},
      {"rsqrt", 1, false, false, 2, 0, 100},        {"sin", 1, false, false, 4, -70000, 70000},
      {"sinh", 1, false, false, 4, -720, 720},      {"sinpi", 1, false, false, 4, -10, 10},
      {"sqrt", 1, false, false, 0.5, 0, 100},       {"tan", 1, false, false, 5, -100, 100},
      {"tanh", 1, false, false, 5, -20, 20},        {"tanpi", 1, false, false, 6, -10, 10},
      {"tgamma", 1, false, false, 16, -40, 175},    {"trunc", 1, false, false, 0, -1000, 1000},
  };
  return cases;
}

template <class Wide>
Quick<Wide> quick_reference(std::string_view name) {
  return functions<Wide>().at(name);
}
template Quick<double> quick_reference(std::string_view);
template Quick<long double> quick_reference(std::string_view);

double trust_in_double(std::string_view name, bool single) {
  if (single) return 0x1p-10;  // of f32's ULP, which are 2^29 of the reference's
  if (name == "rootn" || name == "lgamma") return std::numeric_limits<double>::infinity();
  if (name == "tgamma") return 10;
  if (name == "erfc") return 6;
  if (name == "cbrt" || name == "tanpi") return 4;
  return 2.5;
}

double steps_apart(double expected, double got) {
  if (expected == got || (std::isnan(expected) && std::isnan(got))) return 0;
  const auto a = std::bit_cast<std::uint64_t>(expected), b = std::bit_cast<std::uint64_t>(got);
  constexpr std::uint64_t significand = (std::uint64_t{1} << 52) - 1;
  const bool same_binade = (a & ~significand) == (b & ~significand);
  if (!same_binade || !std::isfinite(expected) || (a & significand) < 64)
    return std::numeric_limits<double>::infinity();
  return double(a > b ? a - b : b - a);
}

double error_in_ulp_of_f32(double expected, float got) {
  if (std::isnan(expected) || std::isnan(got))
    return std::isnan(expected) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  const double e = std::clamp(expected, -0x1p128, 0x1p128), g = std::clamp<double>(got, -0x1p128, 0x1p128);
  const int exponent = int(std::bit_cast<std::uint64_t>(e) >> 52 & 0x7ff) - 1023;
  const std::uint64_t per_ulp = 1023 + 23 - std::clamp(exponent, -126, 127);
  return std::fabs(g - e) * std::bit_cast<double>(per_ulp << 52);
}

double error_in_ulp_of_f64(long double expected, double got) {
  if (std::isnan(expected) || std::isnan(got))
    return std::isnan(expected) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  const long double top = 0x1p1024L;
  const long double e = std::clamp(expected, -top, top), g = std::clamp<long double>(got, -top, top);
  const int exponent = e == 0 ? -1022 : std::clamp(std::ilogb(e), -1022, 1023);
  return double(std::fabs(g - e) / std::ldexp(1.0L, exponent - 52));
}

}  // namespace weir::test
